"""From what breaks to code that fits again; stands above the analysers, because it judges again after each edit.

`absolute` says what fits one upstream commit; `matrix` what fits many; `plan` which edits an upgrade needs (`mends` makes
them, `proposals` prepares the others); `write` puts them on a branch; `trend`, `news` and `impact` tell them over time.
"""
