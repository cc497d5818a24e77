from layline.cli import main

main()
