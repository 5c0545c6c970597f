"""How each primitive moves facts; importing this package fills the table."""

from redzone.rules import arithmetic as _arithmetic
from redzone.rules import indexing as _indexing
from redzone.rules import reductions as _reductions
from redzone.rules import shapes as _shapes
from redzone.rules.table import RULES as RULES
from redzone.rules.table import Rule as Rule

del _arithmetic, _indexing, _reductions, _shapes
