"""HTML reports: one file that needs nothing else; what of the bytes is in them is data, which a small script shows as
text.
"""
