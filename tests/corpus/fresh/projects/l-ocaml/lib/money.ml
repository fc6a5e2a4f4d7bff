type t = Eur | Usd | Gbp
let show = function Eur -> "EUR" | Usd -> "USD"
