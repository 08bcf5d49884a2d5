/** EventRateLimit: limits how many events are written, of the server, a namespace, a user, or a source and its object.
 *  Source: upstream's plugin, release 1.24. */
import type { Event } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { createTokenBucket, type TokenBucket } from '#api/kit/token-bucket.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { EventLimit, LimitType } from './event-rate-limit/config.ts';

function sourceAndObject({ object }: AdmissionRequest): string {
  if (object === undefined) return '';
  const { source, involvedObject: about } = typed<Event>(object);
  return [
    source?.component,
    source?.host,
    about.kind,
    about.namespace,
    about.name,
    about.uid,
    about.apiVersion,
  ].join('');
}

const KEYS: Readonly<Record<LimitType, (request: AdmissionRequest) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject: sourceAndObject,
};

/** Returns the rejection of one limit; `undefined` if it has a token left. */
type Accept = (request: AdmissionRequest) => string | undefined;

function createLimit(clock: Clock, { type, qps, burst, cacheSize }: EventLimit): Accept {
  // In order of use: the first is the one that was not used for the longest time.
  const buckets = new Map<string, TokenBucket>();
  return (request) => {
    const key = KEYS[type](request);
    const bucket = buckets.get(key) ?? createTokenBucket(clock, { ratePerSecond: qps, burst });
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > cacheSize && oldest !== undefined) buckets.delete(oldest);
    return bucket.tryTake() ? undefined : `limit reached on type ${type} for key ${key}`;
  };
}

export function createEventRateLimit(clock: Clock, limits: readonly EventLimit[]): AdmissionPlugin {
  const accepts = limits.map((limit) => createLimit(clock, limit));
  return {
    name: 'EventRateLimit',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/events']),
    validate(request) {
      if (request.dryRun) return;
      // Every limit counts the event, whether or not another one rejects it.
      const [first, ...more] = accepts.flatMap((accept) => accept(request) ?? []);
      if (first === undefined) return;
      const why = more.length === 0 ? first : `[${[first, ...more].join(', ')}]`;
      // Without a time to retry after: clients drop the event, as they should.
      throw new StatusError('TooManyRequests', `Too many requests: ${why}`);
    },
  };
}
