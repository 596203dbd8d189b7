"""The forms that the values of a message can be written in (other versions, flexible or not, tagged, encoded), priced by writing them."""
