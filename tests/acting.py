"""What no view shows as it is, in UTF-8: controls, line separators, zero-width characters, tags, and characters that
turn the direction of text.
"""

import re

ACTS = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xa"
    rb"f]|\xef\xbb\xbf|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
