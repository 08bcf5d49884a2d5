/** `/healthz`, `/livez`, `/readyz` and their individual checks. Source: health endpoints, document 1 §4.10. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiRequest, BytesResponse, PathRoute } from '../contract.ts';
import { pageNotFound } from '../response/status-response.ts';

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  /** Unique; may contain slashes. */
  readonly name: string;
  /** Other names that requests may use. */
  readonly aliases?: readonly string[];
  /** Throws or rejects if the check fails. */
  check(signal: AbortSignal): void | Promise<void>;
  /** Default: all three. */
  readonly on?: readonly HealthEndpoint[];
  /** Its failures don't count for `livez` while the server is starting. */
  readonly startup?: boolean;
}

/** Thrown by a check for a state that every start or shutdown passes through: logged without a warning. */
export class PassingStateError extends Error {
  override readonly name = 'PassingStateError';
}

export interface HealthOptions {
  readonly checks: readonly HealthCheck[];
  /** Checks that may change while the server runs. */
  readonly changingChecks?: () => readonly HealthCheck[];
  /** `--livez-grace-period`. Default 0. */
  readonly livezGraceMs?: number;
}

export interface Health {
  readonly routes: readonly PathRoute[];
  /** From now on `readyz` fails, so that clients send no more work here. */
  beginShutdown(): void;
}

interface CheckResult {
  readonly name: string;
  readonly excluded: boolean;
  readonly error: Error | undefined;
}

function text(status: number, body: string): BytesResponse {
  return {
    kind: 'bytes',
    status,
    contentType: 'text/plain; charset=utf-8',
    body: Buffer.from(body),
    headers: { 'X-Content-Type-Options': 'nosniff' },
  };
}

const namesOf = ({ name, aliases = [] }: HealthCheck): readonly string[] => [name, ...aliases];

const formatResult = ({ name, excluded, error }: CheckResult): string => {
  if (excluded) return `[+]${name} excluded: ok\n`;
  return error === undefined ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`;
};

/** Returns the response for check results, in upstream's text format. */
function formatHealth(
  endpoint: HealthEndpoint,
  results: readonly CheckResult[],
  unknownExclusions: readonly string[],
  verbose: boolean,
): BytesResponse {
  let lines = results.map(formatResult).join('');
  if (unknownExclusions.length > 0) {
    const names = unknownExclusions.map((name) => JSON.stringify(name)).join(',');
    lines += `warn: some health checks cannot be excluded: no matches for ${names}\n`;
  }
  if (results.some(({ error }) => error !== undefined))
    return text(500, `${lines}${endpoint} check failed\n`);
  return text(200, verbose ? `${lines}${endpoint} check passed\n` : 'ok');
}

export interface HealthDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Logs once that a check fails, and once that it has recovered, however often it is requested. */
function createNotes(log: Logger): (check: HealthCheck, error: Error | undefined) => void {
  /** The last logged error of each failing check. */
  const failing = new Map<HealthCheck, string>();
  return (check, error) => {
    if (error === undefined) {
      if (failing.delete(check)) log.info({ check: check.name }, 'Health check recovered');
      return;
    }
    const reason = describeError(error);
    if (failing.get(check) === reason) return;
    failing.set(check, reason);
    const fields = { check: check.name, reason };
    if (error instanceof PassingStateError) log.info(fields, 'Health check not passing yet');
    else log.warn(fields, 'Health check failed');
  };
}

export function createHealth(deps: HealthDeps, options: HealthOptions): Health {
  const startedMs = deps.clock.monotonic();
  let ending = false;
  const ping: HealthCheck = { name: 'ping', check: () => undefined };
  const shutdown: HealthCheck = {
    name: 'shutdown',
    on: ['readyz'],
    check: () => {
      if (ending) throw new PassingStateError('process is shutting down');
    },
  };
  const all = (): readonly HealthCheck[] => [
    ping,
    ...options.checks,
    ...(options.changingChecks?.() ?? []),
    shutdown,
  ];
  const note = createNotes(deps.log);

  async function run(
    check: HealthCheck,
    endpoint: HealthEndpoint,
    signal: AbortSignal,
  ): Promise<CheckResult> {
    try {
      await check.check(signal);
      note(check, undefined);
      return { name: check.name, excluded: false, error: undefined };
    } catch (thrown) {
      const graceMs = options.livezGraceMs ?? 0;
      const starting = deps.clock.monotonic() - startedMs < graceMs;
      const forgiven = endpoint === 'livez' && check.startup === true && starting;
      const error = asError(thrown);
      // The check ends with its request when the client leaves.
      if (!signal.aborted) note(check, error);
      return { name: check.name, excluded: false, error: forgiven ? undefined : error };
    }
  }

  async function runAll(endpoint: HealthEndpoint, request: ApiRequest): Promise<BytesResponse> {
    const excluded = new Set(request.query.getAll('exclude'));
    const checks = checksOf(endpoint);
    const results = await Promise.all(
      checks.map(async (check) =>
        namesOf(check).some((name) => excluded.has(name))
          ? { name: check.name, excluded: true, error: undefined }
          : run(check, endpoint, request.signal),
      ),
    );
    const unknown = [...excluded]
      .filter((name) => !checks.some((check) => namesOf(check).includes(name)))
      .sort();
    return formatHealth(endpoint, results, unknown, request.query.has('verbose'));
  }

  function checksOf(endpoint: HealthEndpoint): readonly HealthCheck[] {
    return all().filter(({ on }) => on === undefined || on.includes(endpoint));
  }

  async function respond(endpoint: HealthEndpoint, request: ApiRequest): Promise<BytesResponse> {
    const name = request.info.path.slice(endpoint.length + 2).replace(/\/$/, '');
    if (name === '') return runAll(endpoint, request);
    const check = checksOf(endpoint).find((each) => namesOf(each).includes(name));
    if (check === undefined) return pageNotFound();
    const { error } = await run(check, endpoint, request.signal);
    return error === undefined ? text(200, 'ok') : text(500, `internal server error: ${error.message}\n`);
  }

  const endpoints: readonly HealthEndpoint[] = ['healthz', 'livez', 'readyz'];
  return {
    routes: endpoints.map((endpoint) => ({
      path: `/${endpoint}`,
      below: true,
      methods: ['GET'],
      handler: (request) => respond(endpoint, request),
    })),
    beginShutdown() {
      ending = true;
    },
  };
}
