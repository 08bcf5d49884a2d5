/** Asks the agent's local API for its pods. */
import { request } from 'node:http';
import { asError } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

/** The agent did not answer, or not with a list of pods. */
export class AgentApiError extends Error {
  constructor(path: string, cause: unknown) {
    super(`the agent did not answer ${path}`, { cause });
    this.name = 'AgentApiError';
  }
}

const TIMEOUT_MS = 5_000;
/** More than any demo has; a longer answer is not from our agent. */
const LARGEST_ANSWER_BYTES = 8 * 1024 * 1024;

/** @throws AgentApiError */
export async function fetchPods(socketPath: string): Promise<readonly Pod[]> {
  try {
    const answer: unknown = JSON.parse(await get(socketPath, '/pods'));
    return podItems(answer);
  } catch (thrown) {
    throw new AgentApiError('/pods', thrown);
  }
}

/** Manifests that do not run, each as a line for people.
 *  @throws AgentApiError */
export async function fetchProblems(socketPath: string): Promise<readonly string[]> {
  try {
    const answer: unknown = JSON.parse(await get(socketPath, '/manifests/problems'));
    return list(answer, 'rejected').map(describeRejected);
  } catch (thrown) {
    throw new AgentApiError('/manifests/problems', thrown);
  }
}

function describeRejected(item: unknown): string {
  const origin = field(item, 'origin');
  const where = `${asText(field(origin, 'location'))}, document ${asText(field(origin, 'document'))}`;
  const why = list(item, 'errors').map(
    (error) => `${asText(field(error, 'field'))}: ${asText(field(error, 'detail'))}`,
  );
  return `${where}: ${asText(field(item, 'identity'))}: ${why.join('; ')}`;
}

function list(value: unknown, key: string): readonly unknown[] {
  const items = field(value, key);
  return Array.isArray(items) ? items : [];
}

function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([k]) => k === key)?.[1]
    : undefined;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '?';
}

function podItems(answer: unknown): readonly Pod[] {
  if (typeof answer !== 'object' || answer === null || !('items' in answer) || !Array.isArray(answer.items)) {
    throw new TypeError('the answer is not a list');
  }
  const items: readonly unknown[] = answer.items;
  if (!items.every(isPod)) throw new TypeError('the list holds something that is not a pod');
  return items;
}

/** Our own agent made it, so its name is proof enough. */
function isPod(item: unknown): item is Pod {
  return typeof item === 'object' && item !== null && 'metadata' in item && typeof item.metadata === 'object';
}

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath, path, headers: { host: 'localhost' }, timeout: TIMEOUT_MS },
      (response) => {
        const parts: Buffer[] = [];
        let size = 0;
        response.on('data', (part: Buffer) => {
          size += part.length;
          if (size > LARGEST_ANSWER_BYTES) call.destroy(new RangeError('the answer is too long'));
          else parts.push(part);
        });
        response.once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(parts).toString();
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`status ${response.statusCode}: ${text.slice(0, 200)}`));
        });
      },
    );
    call.once('timeout', () => call.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    call.once('error', (thrown) => reject(asError(thrown)));
    call.end();
  });
}
