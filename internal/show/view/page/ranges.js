// ranges: lists of numbers as text, such as "0-3,7".

/**
 * ranges writes numbers as they come, those that follow one another as "from-to".
 * @param {number[]} numbers
 */
export function ranges(numbers) {
  const parts = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (end + 1 < numbers.length && numbers[end + 1] === numbers[end] + 1) end++;
    parts.push(end > i ? `${numbers[i]}-${numbers[end]}` : `${numbers[i]}`);
    i = end + 1;
  }
  return parts.join(",");
}

/**
 * unranged reads them back; numbers that are not below `limit`, and those that came before, are left out.
 * @param {string} text
 * @param {number} limit
 */
export function unranged(text, limit) {
  const found = new Set();
  for (const part of text.split(",")) {
    const m = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (!m) continue;
    for (let n = Number(m[1]), end = Math.min(Number(m[2] ?? m[1]), limit - 1); n <= end; n++) found.add(n);
  }
  return [...found];
}
