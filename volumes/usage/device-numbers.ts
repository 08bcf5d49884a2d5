/** A device number as `major:minor`, split as in the C library. Pure. */
export function deviceNumbers(dev: number): string {
  const id = BigInt(dev);
  const major = ((id >> 8n) & 0xfffn) | ((id >> 32n) & ~0xfffn);
  const minor = (id & 0xffn) | ((id >> 12n) & ~0xffn);
  return `${major}:${minor & 0xffffffffn}`;
}
