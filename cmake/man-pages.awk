# Divides collected manual pages into files: awk -v into=FOLDER -f man-pages.awk docs/man/generated/*.man
/^\.\\" file / { close(page); page = into "/" $3; next }
page != "" { print > page }
