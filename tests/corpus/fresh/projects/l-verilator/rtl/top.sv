module top(input logic [3:0] x, output logic [7:0] z);
  alu u0(.a(x), .b(8'd1), .op(2'b0), .y(z));
endmodule
