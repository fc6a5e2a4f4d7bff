module top(input clk, output [3:0] q);
  counter c0(.clk(clk), .rst(rst), .q(q), .en(1));
endmodule
