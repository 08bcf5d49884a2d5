/** Check that a disabled manager finds no state of an enabled one, whose containers would remain pinned. */
import { readFile } from 'node:fs/promises';
import { parseJsonText } from '#api/codec/json-text.ts';
import { staleState } from './state-error.ts';

/** Returns the policy in a state file; undefined when unreadable. Pure. */
export function policyOf(text: string): string | undefined {
  try {
    const value: unknown = parseJsonText(text);
    const name =
      typeof value === 'object' && value !== null && 'policyName' in value ? value.policyName : undefined;
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

/** @throws ResourceStateError for a file of another policy, or an unreadable one */
export async function refuseStateOfOthers(path: string, policy: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const found = policyOf(text);
  if (found === undefined) throw staleState(path, 'is corrupt');
  if (found !== policy) throw staleState(path, `was written with the policy ${found}, not ${policy}`);
}
