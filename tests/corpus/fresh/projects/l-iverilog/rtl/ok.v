module ok; endmodule
