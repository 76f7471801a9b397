"""`python -m proofline_c` is `proofline`."""

from proofline_c import main

main()
