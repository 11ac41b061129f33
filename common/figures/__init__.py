"""How a figure is made: cells → places → layout → routes → SVG, and the text twin. `common.viz` is the public side."""
