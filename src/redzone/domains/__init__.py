"""What can be known of a value: bounds over an array, a stride, NaN. No jax in here."""

from redzone.domains.dtype import DtypeInfo as DtypeInfo
from redzone.domains.dtype import dtype_info as dtype_info
from redzone.domains.fact import BOOL as BOOL
from redzone.domains.fact import FALSE as FALSE
from redzone.domains.fact import TOP_FLOAT as TOP_FLOAT
from redzone.domains.fact import TRUE as TRUE
from redzone.domains.fact import Fact as Fact
from redzone.domains.fact import constant as constant
from redzone.domains.fact import join as join
from redzone.domains.fact import joined as joined
from redzone.domains.fact import leq as leq
from redzone.domains.fact import meet as meet
from redzone.domains.fact import scalar as scalar
from redzone.domains.fact import settle as settle
from redzone.domains.fact import summarised as summarised
from redzone.domains.fact import top as top
from redzone.domains.fact import widen as widen
