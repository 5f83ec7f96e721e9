/** A finite number with so many digits after the point: from 10²¹ on, JavaScript would write an exponent. */
export function decimalText(value: number, decimals: number): string {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${decimals > 0 ? `.${"0".repeat(decimals)}` : ""}`;
  return decimals === 0 ? String(value) : value.toFixed(decimals);
}
