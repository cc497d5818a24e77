from layline.cli import enter

enter()
