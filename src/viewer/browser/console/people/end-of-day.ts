/** The end of a day where the user is. @param day as `2027-01-31` */
export const endOfDay = (day: string): string => {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year!, month! - 1, date! + 1).toISOString();
};
