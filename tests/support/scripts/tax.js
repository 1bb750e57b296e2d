// A function for queries: a tenth of small incomes, a fifth of middling ones, two fifths of large ones.
function tax(income) {
  if (typeof income !== 'number') throw new Error('An income must be a number.');
  if (income < 1000) return income * 0.1;
  return income * (income < 10000 ? 0.2 : 0.4);
}
