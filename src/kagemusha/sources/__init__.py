from kagemusha.sources.codes import CodesSource as CodesSource
from kagemusha.sources.file import FileSource as FileSource
from kagemusha.sources.frame import FrameSource as FrameSource
from kagemusha.sources.open import open_source as open_source
from kagemusha.sources.open_table import OpenTable as OpenTable
from kagemusha.sources.open_table import open_table as open_table
from kagemusha.sources.protocol import Source as Source
from kagemusha.sources.rawfile import read_header as read_header
