/** Self-checking values: their content determines what the rest must be. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

/** A value of a length that depends on the name, with its own digest in front. */
export function sealedValue(name: string): Buffer {
  const digest = createHash('sha256').update(name).digest();
  const body = Buffer.alloc(200 + (digest.readUInt16LE(0) % 2500), digest);
  const rest = Buffer.concat([Buffer.from(`${name}\n`), body]);
  return Buffer.concat([createHash('sha256').update(rest).digest(), rest]);
}

/** Returns the name that the value was created for.
 *  @throws Error if the value isn't whole */
export function unsealValue(value: Buffer): string {
  const rest = value.subarray(32);
  if (!createHash('sha256').update(rest).digest().equals(value.subarray(0, 32)))
    throw new Error('torn value');
  const name = rest.toString('utf8', 0, rest.indexOf(10));
  if (!sealedValue(name).equals(value)) throw new Error(`the value of ${name} is another's`);
  return name;
}
