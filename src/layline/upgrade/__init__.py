"""From what breaks to code that fits again; stands above the analysers, because it judges again after each edit.

`absolute` and `patched` say what fits one upstream commit, `matrix` what fits many, `safe` which pin is safe. `moves`
says where a name went, `plan` which edits an upgrade needs; `imports`, `retarget`, `parameters` and `pin_edit` make
them, `proposals` prepares the others, `trailers` lets a later run go on. `news` is what changed between two answers.
"""
