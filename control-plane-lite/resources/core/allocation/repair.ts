/** Reconciles a pool with the objects that own its values. A server killed between allocating a value and
 *  storing its service leaks the value; so does one killed before releasing it. */
import type { RepairReport } from './contract.ts';
import type { Pool } from './pool.ts';

export interface Claim {
  readonly text: string;
  readonly owner: string;
}

/** Minimum age of an unowned allocation, in ms: a younger one may belong to a service that is being stored. */
const GRACE_MS = 5 * 60_000;

/** The claims of values that the pool has, in the pool's spelling. */
function claimsOf(pool: Pool, claims: readonly Claim[]): readonly Claim[] {
  return claims.flatMap(({ text, owner }) => {
    const index = pool.space.indexOf(text);
    return index === undefined ? [] : [{ text: pool.space.textOf(index), owner }];
  });
}

/** Allocates owned values that are missing and releases values without an owner. Safe to repeat, and to run
 *  beside other servers: recent allocations stay untouched. */
export async function repairPool(pool: Pool, claims: readonly Claim[], nowMs: number): Promise<RepairReport> {
  const entries = await pool.entries();
  const known = new Set(entries.map(({ text }) => text));
  const claimed = new Map<string, string>();
  const conflicts: string[] = [];
  let restored = 0;
  for (const { text, owner } of claimsOf(pool, claims)) {
    const first = claimed.get(text);
    if (first !== undefined && first !== owner) conflicts.push(`${text}: ${owner}`);
    claimed.set(text, first ?? owner);
    if (!known.has(text) && (await pool.take(text, owner)) === 'taken') restored += 1;
  }
  let freed = 0;
  for (const entry of entries) {
    const claimant = claimed.get(entry.text);
    if (claimant === entry.owner || nowMs - entry.takenAtMs < GRACE_MS) continue;
    await pool.discard(entry);
    if (claimant === undefined) freed += 1;
    else if ((await pool.take(entry.text, claimant)) === 'taken') restored += 1;
  }
  return { restored, freed, conflicts };
}
