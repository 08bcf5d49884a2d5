/** Keeps the server's own certificates current while it runs: renews them well before they expire, follows the clock
 *  when it jumps, and follows the files when an administrator replaces an authority. */
import { X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, onClockJump } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { AUTHORITIES } from './authorities.ts';
import { type IdentityOptions, isGoodBy, loadIdentity, type ServerIdentity } from './files.ts';

export interface LiveIdentity {
  readonly current: () => ServerIdentity;
  /** Calls the listener after each change. @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
  readonly close: () => void;
}

export interface KeeperDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** Certificates are compared with the clock this often, in ms; at once after a jump. */
const CLOCK_MS = 60_000;
/** Several files change together, in ms. */
const SETTLE_MS = 100;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Remaining lifetime of an authority below which its replacement is called for, in ms. */
const AUTHORITY_WARNING_MS = 400 * DAY_MS;

/** Reports whether every certificate is good at this time. */
function isCurrent(identity: ServerIdentity, nowMs: number): boolean {
  const { authority, serverAuthority, requestHeaderAuthority } = identity;
  const pairs: readonly (readonly [Identity, Identity])[] = [
    [identity.serving, serverAuthority.former ?? serverAuthority],
    [identity.admin, authority],
    [identity.nodeClient, authority.former ?? authority],
    [identity.requestHeader, requestHeaderAuthority.former ?? requestHeaderAuthority],
  ];
  return pairs.every(([{ certificate }, by]) =>
    isGoodBy(new X509Certificate(certificate), new X509Certificate(by.certificate), nowMs),
  );
}

/** Names of the authorities that expire soon. */
function expiringAuthorities(identity: ServerIdentity, nowMs: number): readonly string[] {
  const { authority, serverAuthority, nodeServingAuthority, requestHeaderAuthority } = identity;
  const all = [authority, serverAuthority, nodeServingAuthority, requestHeaderAuthority];
  return Object.keys(AUTHORITIES).filter((_, index) => {
    const { validTo } = new X509Certificate(all[index]?.certificate ?? '');
    return Date.parse(validTo) - nowMs < AUTHORITY_WARNING_MS;
  });
}

/** @throws Error that names the unreadable or unwritable file */
export async function keepIdentity(
  { clock, log }: KeeperDeps,
  options: () => Omit<IdentityOptions, 'nowMs'>,
): Promise<LiveIdentity> {
  const load = (): Promise<ServerIdentity> => loadIdentity({ ...options(), nowMs: clock.now() });
  const listeners = createListeners('server identity');
  const ending = new AbortController();
  let current = await load();
  let warned = '';

  function warnOfExpiry(): void {
    const names = expiringAuthorities(current, clock.now()).join(', ');
    if (names !== '' && names !== warned) {
      log.warn(
        { authorities: names },
        'Certificate authorities expire soon; replace them: certificates rotate',
      );
    }
    warned = names;
  }

  const loop = createLoop({
    clock,
    async step() {
      const next = await load();
      if (isDeepStrictEqual(next, current)) return undefined;
      current = next;
      log.info({}, 'Certificates of the server replaced');
      warnOfExpiry();
      listeners.notify();
      return undefined;
    },
    onError: (err) => log.warn({ err }, 'Failed to renew certificates; the previous ones stay in use'),
    retryMs: CLOCK_MS,
  });

  function checkNow(): void {
    if (!isCurrent(current, clock.now())) loop.wake();
    warnOfExpiry();
  }

  function checkClock(): void {
    checkNow();
    timer = clock.setTimer(checkClock, CLOCK_MS);
  }

  function watchFiles(): FSWatcher | undefined {
    const { dir } = options();
    try {
      const watcher = watch(dir, { persistent: false }, () => loop.wakeAt(clock.now() + SETTLE_MS));
      return watcher.on('error', (err) => log.warn({ err, dir }, 'Failed to watch certificates'));
    } catch (err) {
      log.warn({ err, dir }, 'Failed to watch certificates');
      return undefined;
    }
  }

  const watcher = watchFiles();
  // Files may have changed before the watch.
  loop.wake();
  void loop.run(ending.signal);
  let timer = clock.setTimer(checkClock, CLOCK_MS);
  const endJumps = onClockJump(clock, checkNow);
  warnOfExpiry();
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      ending.abort();
      timer.cancel();
      endJumps();
      watcher?.close();
    },
  };
}
