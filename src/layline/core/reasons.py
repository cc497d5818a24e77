"""Every reason with its sentence, the one place where reasons become English, and which reasons belong together.

In a sentence `{names:3}` shows the first three, `{parts:3+}` also how many more there are, `{names:6&}` ends with "and",
`{other:? (% now)}` nothing where it is empty, `{counts[0]:#value}` as `2 values`, `{counts[0]:<value}` as `at most 2
values`.
"""

from __future__ import annotations

from enum import Enum, unique


@unique
class Reason(Enum):
    """Every reason of a comparison, a drift or a coupling."""

    TEXT = "{text}"
    """What another reader said in its own words (why a name cannot be resolved, why an effect is not certain)."""
    KIND_ALONE = ""
    """The kind says it all."""
    # what became of the name
    PIN_LACKS_IT = "the pin does not have it"
    TIP_HAS_IT = "the tip has it"
    RAISES_TODAY = "patching a name that is missing raises AttributeError when this line runs and, unless caught, stops what comes after"
    NOT_OF_THIS_UPSTREAM = "it is not code of this upstream"
    GONE = "it is gone"
    WAS_REMOVED = "upstream removed the name"
    NOT_DEFINED_HERE = "it is no longer defined here: {name}"
    WAS_IS = "it was {name} and is {other} now"
    ONLY_REEXPORTED = "the old path only re-exports it"
    ONLY_CALLS = "the old name only calls {name}, which does the work now"
    INHERITED = "it is inherited from {name} now"
    COMES_FROM = "it comes from {other} now, {name} before"
    OTHER_KIND = "the {name} became a {other}"
    BASES = "bases {name} became {other}"
    SIGNATURE = "{names:6;}"
    NOW = "now {name}"
    MEMBER_GONE = "{name} no longer has {other}"
    NO_LONGER_INHERITS = "{name} no longer inherits it from {other}"
    CLASS_GONE = "its class {name} is gone"
    CLASS_IS_NOW = (
        "its class is {name} now; our code sets the name on an object, so the name of the class does not matter"
    )
    CLASS_LACKS_IT = "its class is {name} now and has no {other}"
    MODULE_MOVED = "the module {name} is now {other}"
    MODULE_GONE = "the module {name} is gone"
    ONLY_IMPORTED = "it was only imported here, from {name}"
    UNBOUND = "{name} no longer has the name {other}"
    STILL_THERE = "{name} is still there"
    MADE_BY_FUNCTION = "upstream calls the function {name} instead of the class"
    STANDS_INSTEAD = "its own code uses {name} where it used {other}"
    UNBOUND_AND_MOVED = "{name} no longer has the name {other}, which moved to {text}"
    ORIGIN_GONE = "{name}, which it imported, is gone"
    MOVED_THEN_REMOVED = "{name} moved or renamed it, and {other} removed it"
    # whose it is
    OTHER_BACKEND = "it belongs to another backend"
    OWN_CODE = "it is our own code, not upstream's"
    STAND_IN = "the name belongs to a module object that our code creates: nothing in upstream's module is replaced"
    MEMBER_OF_VALUE = "it belongs to the value {name}, which is still assigned as before"
    SET_BY_METHODS = "upstream's own methods set this attribute, at the tip too"
    FROM_OUTSIDE = "its class is still there, but upstream does not define the name there: a base class of another package has it, or our code adds it"
    OF_A_FUNCTION = "it is an attribute that our code sets on a function"
    FUNCTION_STAYS = "the function is still there"
    REMOVED_BEFORE = "the pin does not have it: {name} was removed"
    OUR_ADDITION = "our own addition: upstream never had it, and our own code reads it at {places}"
    ADDS_MISSING = "our code adds it where upstream does not have it"
    NEW_SINCE = "upstream added it after the commit compared from"
    NEVER_HAD = "upstream never had it: an addition, or a typo"
    NEVER_HAD_OWNER = "upstream never had {name}"
    OWNER_ADDED = "our own addition: our code puts {name} there at {places}"
    NEVER_HAD_ASKED = "upstream never had it, and our code checks for it first"
    COMES_LATER = "upstream added it after the pin: our code is written for a newer upstream"
    TYPO = "upstream never had it (a typo of {name}?)"
    CAME_AND_WENT = "upstream added it after the pin and removed it in {name} ({other}): {text}"
    HAD_UNTIL = "upstream removed it in {name} ({other}): {text}"
    RESULT_UNKNOWN = "the function's result cannot be decided without running the code"
    UNREADABLE = "the target cannot be read from the code"
    NOT_CERTAIN = "not certain: {text}"
    # keys of the configuration and of the environment
    KEY_DROPPED = "upstream no longer mentions {names}"
    KEY_UNKNOWN = "upstream does not mention it: it is our own or another library's"
    KEY_STAYS = "upstream mentions it at pin and tip"
    KEY_NEEDED = "the patch depends on the config key {name}, which upstream no longer mentions"
    # whether our replacement takes what is passed; said of it, so without a subject
    REFUSES = "does not take {text}"
    REFUSES_KEYWORD = "does not take the keyword {name}"
    REFUSES_KEYWORDS = "does not take the keywords {name}"
    REFUSES_NAME = "does not take {text} by name (our parameter is called {name})"
    TOO_MANY = "takes {counts[0]:<positional argument} and gets {counts[1]}"
    TWICE = "gets {name} twice, by position and by keyword"
    NOT_PASSED = "needs {name}, which is not passed"
    ARE_NOT_PASSED = "needs {name}, which are not passed"
    NEEDS_CALLED = "needs {name}, which our call passes as {other}"
    NEEDS_EXTRA = "needs {name}, which upstream does not pass"
    NEEDS_RENAMED = "needs {name}, which upstream calls {other}"
    NEEDS_REMOVED = "needs {name}, which upstream no longer has"
    LANDS_IN_ANOTHER = "takes positional argument {counts[0]} of our call as {other} (at the pin: as {name})"
    LAND_IN_OTHERS = "takes positional arguments {text} of our call as {other} (at the pin: as {name})"
    SWAPPED = "has {name} at the position where upstream has {other}"
    LACKS_NATURE = "is not a {name}, but upstream's is at the tip"
    HAS_NATURE = "is a {name}, but upstream's is not at the tip"
    NOT_ASYNC = "is not async, but upstream's is at the tip"
    ASYNC = "is async, but upstream's is not at the tip"
    RETURNS_OLD = "returns {counts[0]:#value} where upstream's own function returns {counts[1]} at the tip"
    TAKES_OLD = "expects {counts[0]:#value} from the original, which now returns {counts[1]}"
    MAKES_OLD = "on some paths returns its own result, written for an original that returned {counts[0]:#value}"
    # what our replacement reads
    READS_LOST = "reads {name}, which {other} does not have at the tip"
    READS_TOO_NEW = "reads {name}, which {other} does not have there (the tip has it)"
    READS_VANISHED = "reads {name}, which no code of {other} has at the tip"
    USES_GONE = "uses {name}, which is gone{other:? (% now}{text:?, with other parameters}{other:?)}"
    OTHER_PARAMETERS = "{name}, with other parameters"
    NOT_REACHED = "is not reached: the import of {name} at line {counts[0]} fails{other:? (% now)}"
    LINE_FAILS = "is not reached: line {counts[0]} fails because {name} is gone{other:? (% now)}"
    RESULT_LACKS = "reads {name} from the result of {other} at {places}, which is a {text} and has no such name"
    RESULT_LACKS_STILL = (
        "reads {name} from the result of {other} at {places}, which is a {text} and has no such name at pin and tip"
    )
    TAKEN_APART = "takes {counts[0]:#value} from {name} at {places}, which at the tip returns one {text}"
    TAKES_OTHER = "expects {counts[0]:#value} from {name} at {places}, which returns {counts[1]} at the tip"
    CALLS_REFUSING = "calls {name} at {places}, which at the tip {parts:2;}"
    CALLS_REFUSING_TODAY = "calls {name} at {places}, which {parts:;} there"
    CALLS_REFUSING_STILL = "calls {name} at {places}, which at pin and tip {parts:;}"
    IMPORTS_MISSING = "imports {name} at {places}, which the pin does not have"
    IMPORTS_MISSING_STILL = "imports {name} at {places}, which neither the pin nor the tip has"
    DELETES_READ = "deletes {name}, which the original keeps and {other} reads"
    LEAVES_UNSET = "does not set {name}, which the original sets and {other} needs"
    LEAVES_UNSET_STILL = "does not set {name}, which the original sets and {other} needs, also at the tip"
    NEEDS_GONE = "needs {name} (imported at {places}), which is gone{other:? (% now)}"
    # the fit of our replacement as a whole
    MISFITS = "our replacement {parts:20}"
    MISFITS_UNSHOWN = "our replacement {parts:20}, but no upstream call is affected by that"
    MISFITS_UNPASSED = "our replacement {parts:20}, but no upstream call passes such arguments, so no call fails"
    MISFITS_HANDED = (
        "our replacement {parts:20}; no upstream call by its name passes that, but upstream stores it or passes it on at "
        "{places:3}, and calls made through that were not followed"
    )
    MISFITS_PASSED = "our replacement {parts:20}; upstream passes that at {places:4}"
    MISFITS_LEFT_OUT = "our replacement {parts:20}; upstream omits that at {places:4}"
    MISFITS_MAYBE = "our replacement {parts:20}; upstream may pass that at {places:4}"
    MISFITS_SLOT = (
        "our replacement {parts:20}; upstream passes that to whichever class a field holds, e.g. at {places:2}"
    )
    MEMBER_REFUSES = "{name} of our class {parts:20}; upstream passes that at {places:4}"
    FIELD_REFUSES = "{name} of our class {parts:20}; upstream passes that to what {other} holds at {places:4}"
    MEMBER_MISSING = "our class has no {name}, which upstream's class has now and its code calls at {places:4}"
    MISFITS_TODAY = "already at the pin, our replacement {parts:20}; upstream calls it that way at {places:4}"
    MISREADS = "our replacement {parts:3+}"
    NOT_INSTALLED = "our code {parts:3+}"
    AROUND_FAILS = "already at the pin, the method around this line ({places}) fails whenever upstream calls it"
    AROUND_UNHANDED = (
        "the method around this line ({places}) would fail, but nothing in the project passes its class to upstream"
    )
    NEVER_MADE = "already at the pin, the class around this line cannot be instantiated: the import at {places} fails"
    TEST_FAILS = "this line comes after the test at {places}, which raises at the tip: {name} is not a class there"
    MISREADS_TODAY = "already at the pin, our replacement {parts:3+}"
    MISRETURNS = "our replacement {parts}"
    TAKES_ALL = "our replacement {text} still takes what upstream passes"
    TAKES_NO_MORE = "upstream's function takes any keyword now; our replacement {text} takes only its own"
    SETS_UNREAD = (
        "our replacement sets {names:4&}, which the code around the class read at the pin and does not read at the tip"
    )
    SETS_DROPPED = "our replacement sets {names:4&}, which {name} set and read at the pin and does neither at the tip"
    NO_LONGER_CALLED = "upstream's own code no longer calls it, so it does not run what we put there"
    UNCALLED = "no upstream code calls it at the tip"
    NO_LONGER_RETURNED = "{name} returned it unchanged and no longer does{other:?; it reads % now}"
    RETURNED_WHERE = (
        "{name} returned it unchanged before; now it reads it only where {text}{other:?, otherwise it reads %}"
    )
    RETURNED_MAYBE = (
        "{name} returned it unchanged; it still reads it, but whether it returns it cannot be decided without running "
        "the code{other:?; it reads % now, too}"
    )
    CALLERS_REPLACED = "upstream calls it only in {names:3&}, which our code replaces, too"
    UNREAD_SIGNATURE = "our replacement's signature cannot be read"
    NO_INIT = "our class writes no __init__ of its own"
    CALLS_SOMETIMES = "we call the original only on some paths"
    CALLS_ORIGINAL = "we still call the original"
    RETURN_COUNT = "it returned {counts[0]:#value} and returns {counts[1]} now"
    RETURN_TYPE = "it returned {name} and returns {other} now"
    READS_OF_RETURNED = "our wrapper reads {names} of the result"
    # whether the write arrives
    CANNOT_LOAD = "{name} cannot be imported today: {places} imports {other}, which the pin does not have"
    BYPASSED = "no code of {name} uses it at the tip, so rebinding it there has no effect: upstream runs {other}"
    STILL_REACHES = (
        "the same patch also rebinds {name}, which the tip uses at {names:3}, so the patch still works there"
    )
    SHADOWED = (
        "attribute access gives {name}, not the submodule of that name: a write made that way misses the submodule"
    )
    LATE_DEFAULT = (
        "{name} is a dataclass: its __init__ keeps the old default of {other}, so new objects do not get our value"
    )
    LATE_FIELD = (
        "{name} is a dataclass: {other}, set after the class is made, is not one of its fields (not in __init__, fields(), "
        "replace(), ==)"
    )
    HELD = "these modules import it with `from … import` and may keep the original: {names}"
    BODY_USES = "its body now uses {names:4+}"
    BODY_DROPS = "its body no longer uses {names:4+}"
    BODY_LINE = "1 line of its body changed"
    BODY_LINES = "{counts[0]} lines of its body changed"
    VALUE = "its value changed"
    TEXT_STAYS = "the text it searches for is still there"
    TEXT_GONE = "the text it searches for is gone: {text}"
    TEXT_MISSING = "the text it searches for is not in upstream's source today: {text}"
    # places outside patches
    HOLDS_ANOTHER = "it held {name} and holds {other} now"
    NOT_SET = "no method of {name} sets self.{other} at the tip"
    ABSENT_ALREADY = "already absent at the pin"
    CAUGHT = "the import fails at the tip; our code catches that and {parts:;}"
    GONE_TOO = "the same `try` imports more names that are gone: {names:4+}"
    TOO_NEW_TOO = "the same file imports more of this kind: {names:6+}"
    OTHER_WAY = "the import fails at the tip, and the `try` at line {counts[0]} has another import to fall back on"
    FLAGS_FALL = "sets {names:6&} to False"
    ARE_NONE = "sets {names:6&} to None"
    STANDS_IN = "uses {other} instead of {name}"
    NOT_BOUND = "leaves {name} undefined"
    NOT_BOUND_USED = "leaves {name} undefined, which raises NameError in {text} {names:4&}"
    TRY_ENDS = "skips {text}"
    HANDLER_LEAVES = "ends the function in the handler at line {counts[0]}"
    FAILS_ALREADY = "the import fails: neither the pin nor the tip has this name{name:? there; the pin has it at %}"
    FAILS_BEFORE = "the import at {places} fails before it, at the pin already"
    IMPORT_TOO_NEW = "the pin does not have the name yet, so the import fails there; the tip has it"
    READ_FAILS_ALREADY = "reading it fails: neither the pin nor the tip has this name"
    NOT_CALLED = "upstream no longer has this method, so our override is not called"
    SILENT = "upstream called it at {places:2} and no code of the tip does, so our override is not called"
    CALLED_BY_US = "upstream no longer has this method; our own class still calls our method"
    CALLED_WHERE_THERE = (
        "upstream's class no longer has this method, but its code still names it and may call our method"
    )
    PYTHON_CALLS = "upstream no longer has this method; Python still calls our method: check what is passed to it"
    NEVER_CALLED = "assigning to it raises no error: what we install is never called"
    TYPES_ONLY = "imported for type checking only"
    CALL_NEVER = "at the pin {name} {parts:;}; our call does not fit the tip either"
    CALL_MIXED = "at the pin {name} {parts:;}; at the tip it takes our {names:6&} as {other}"
    CALL_CROSSED = "it takes our {names:6&} as {other}, at the pin already: our call passes them in the order that upstream had before {text}"
    CALL_CROSSED_LATE = "our call fits only the tip: at the pin it takes our {names:6&} as {other}"
    CALL_CROSSED_HERE = (
        "it takes our {names:6&} as {other}: our call passes them in the order that upstream had before {text}"
    )
    CALL_TOO_NEW = "our call fits only the tip: at the pin {name} {parts:;}"
    NEVER_BOUND = (
        "our call does not seem to fit the signature at the pin: it does not run there, or Layline misreads it"
    )
    MUST_AWAIT = "at the tip it is async: its caller must await it"
    CANNOT_AWAIT = "at the tip it is no longer async: it cannot be awaited"
    RESULT_MISFITS = "our code expects {counts[0]:#value} from it, but it returns {counts[1]} now"
    RESULT_NEVER = (
        "our code expects {counts[0]:#value} from it; it returns {counts[1]} at the pin and {other} at the tip"
    )
    RESULT_TOO_NEW = (
        "our code expects {counts[0]:#value} from it, as it returns at the tip; at the pin it returns {counts[1]}"
    )
    DEFAULT_SWITCHES = (
        "our call does not name {name}, which decides what is returned: its default is {other} now (at the pin: {text})"
    )
    CAME_BACK = "upstream removed it in {name} and brought it back in {other}"
    OUTGROWN = "expects {other} as {text} instead of {name}, which is gone"
    CALL_MISFITS = "at the tip {name} {parts:;}"
    CATCHES = "the `{name}` around our call catches that, and what follows the call there is skipped"
    LOOKED_AT = "our code checks for that with `inspect` first"
    ONCE_MENDED = "it must be imported from {name} now, and even then our call does not fit"
    OVERRIDE_MISFITS = "our override {parts:;}"
    PASSED_AT = "upstream passes that at {places:3}"
    CALLED_AT = "upstream calls it that way at {places:3}"
    ALREADY_SO = "this was already so at the pin{text:?: %}"
    MAYBE_PASSED = (
        "upstream may pass that at {places:3}: what is called there cannot be decided without running the code"
    )
    NOT_PASSED_ANYWHERE = "no upstream call passes that"
    BUILT_BY_US = "only our own code makes objects of the class"
    NOT_NAMED = "nothing in the project names its class, so upstream never receives it"
    NOT_HANDED = "nothing in the project passes it to upstream: only {names:3&} names it, and nothing uses that"
    RUN_BY_US = "upstream's call at {places:1} would already fail at the pin, so only our own code calls it"
    PASSED_SLOT = "upstream passes that to whichever class a field holds, e.g. at {places:2}"
    METHOD_RETURNS = "upstream's method returned {name} and returns {other} now"
    CLASS_NO_MORE = "the class is a function at the tip: isinstance and subclassing fail"
    OLD_ADDRESS = "the old name still leads to it"
    NO_FLAG = "the tip has no flag that sets {name}"
    FLAG_NOW = "at the tip {name}"
    DEFAULT = "default {name} became {other}"
    IMPORT_FAILS = "the import fails at the tip, so {name} not installed: {names:3+}"
    CALLERS_FAIL = (
        "the files that call what installs {counts[0]:#other effect} load this one and fail with it: {names:3+}"
    )
    ALSO = "also line {names:6&}"
    ALSO_LINES = "also lines {names:6&}"
    # when it applies
    ONLY_WITHOUT = "it replaces {name} where {name} cannot be imported"
    GUARD_UNDECIDED = "undecided whether {name} can still be true: {parts:;}"
    GUARD_NOT_YET = "{name} is false at the pin, so it does nothing today: {parts:;}"
    GUARD_NEVER = "{name} is already false at the pin: {parts:;}"
    GUARD_FOLLOWS = "{name} is false at the tip, because it tests the old name; the new name is {other}"
    GUARD_OVER = "{name} can no longer be true: {parts:;}; the patch can be deleted"
    GUARD_OVER_UNLESS = "{name} can no longer be true: {parts:;}; the patch can be deleted, unless what it changed happens elsewhere now"
    GATE_NO_VERSION = "undecided whether its version pattern {name} holds: the tip declares no version"
    GATE_OVER = "its version pattern {name} is false at the tip ({other}): the patch can be deleted"
    GATE_UNDECIDED = "undecided whether its version pattern {name} holds at the tip ({other})"
    SIDE_HAS = "the {other} has {name}"
    SIDE_LACKS = "the {other} has no {name}"
    KIND_IS = "{name} is a {text} at the {other}"
    KEY_FALSE = "upstream dropped the config key {name}, and no config file of ours sets it"
    KEY_STILL_SET = "upstream dropped the config key {name}, which our configuration still sets"
    VERSION_IS = "{text} is {names} at the {other} ({name})"
    STOPS_APPLYING = "so our code skips the write: the patch stops applying, and no error is raised"
    RAISES_INSTEAD = "our code raises at {places} before the write: {parts:;}"
    REFUSES_VERSION = "our code refuses the tip's version at {places}, so the patch is not applied there: {parts:;}"
    NOT_RUN_YET = "our code does not run it at the pin: {parts:;}"
    NOT_RUN_NOW = "our code does not run it at the tip: {parts:;}"
    NOT_RUN_ANY_MORE = (
        "our code does not run it at the tip: {parts:;}; it can be deleted once no older version is supported"
    )
    NOT_RUN_AT_ALL = "our code runs it neither at the pin nor at the tip: {parts:;}; it can be deleted"
    ADDED_THERE = "it only adds the name where upstream does not have it: {parts:;}"
    INACTIVE = "the patch is not active: {text}"
    EQUAL_NOW = "upstream's body at the tip equals ours: the patch can be deleted"
    EQUAL_THEN = "upstream's body already equals ours at the pin: the patch can be deleted"

    @property
    def code(self) -> str:
        """As programs read it: `module-gone`."""
        return self.name.lower().replace("_", "-")


PROBLEMS = frozenset(
    {
        Reason.MISFITS,
        Reason.MISFITS_UNSHOWN,
        Reason.MISFITS_UNPASSED,
        Reason.MISFITS_HANDED,
        Reason.MISFITS_PASSED,
        Reason.MISFITS_LEFT_OUT,
        Reason.MISFITS_MAYBE,
        Reason.MISFITS_SLOT,
        Reason.MEMBER_REFUSES,
        Reason.FIELD_REFUSES,
        Reason.MISFITS_TODAY,
        Reason.MISREADS,
        Reason.MISREADS_TODAY,
        Reason.MISRETURNS,
        Reason.NOT_INSTALLED,
    }
)
"""Sums of what is wrong with our replacement; their parts are the single problems."""
FAILS_STILL = frozenset({Reason.CALLS_REFUSING_STILL, Reason.IMPORTS_MISSING_STILL, Reason.RESULT_LACKS_STILL})
"""Lines of our own that fail at the pin as at the tip."""
FAILS_FIRST = frozenset({Reason.NOT_REACHED, Reason.LINE_FAILS, Reason.NEEDS_GONE})
"""What fails before anything is put in place: a root cause, which is told once."""
RISKS = frozenset({Reason.SHADOWED, Reason.LATE_DEFAULT, Reason.LATE_FIELD, Reason.BYPASSED})
"""Why a write may not be seen by the code it is meant for."""
ASIDE = (RISKS - {Reason.BYPASSED}) | {Reason.HELD, Reason.EQUAL_NOW, Reason.EQUAL_THEN}
"""Told beside a row, not as its reason."""
