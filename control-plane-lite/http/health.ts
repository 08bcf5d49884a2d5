/** `/healthz`, `/livez`, `/readyz` and their single checks. Source: document 1, 4.10. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/clock.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiRequest, BytesResponse, PathRoute } from './contract.ts';
import { pageNotFound } from './status-response.ts';

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz';

export interface HealthCheck {
  /** Unique; may hold slashes. */
  readonly name: string;
  /** Other names that requests may use. */
  readonly aliases?: readonly string[];
  /** Throws, or rejects, if something is wrong. */
  check(signal: AbortSignal): void | Promise<void>;
  /** Default: all three. */
  readonly on?: readonly HealthEndpoint[];
  /** Its failures don't count for `livez` while the server is starting. */
  readonly startup?: boolean;
}

/** What a check throws for a state that is part of every start, or of every end: no reason for a warning. */
export class PassingStateError extends Error {
  override readonly name = 'PassingStateError';
}

export interface HealthOptions {
  readonly checks: readonly HealthCheck[];
  /** `--livez-grace-period`. Default 0. */
  readonly livezGraceMs?: number;
}

export interface Health {
  readonly routes: readonly PathRoute[];
  /** From now on `readyz` fails, so that no more work is sent here. */
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

/** The answer to results; its form is one that people and scripts of the field read. */
export function formatHealth(
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

/** Logs that a check fails, and that it passes again: once each, however often somebody asks. */
function createNotes(log: Logger): (check: HealthCheck, error: Error | undefined) => void {
  /** Why checks fail, as far as it was logged. */
  const failing = new Map<HealthCheck, string>();
  return (check, error) => {
    if (error === undefined) {
      if (failing.delete(check)) log.info({ check: check.name }, 'Health check passes');
      return;
    }
    const reason = describeError(error);
    if (failing.get(check) === reason) return;
    failing.set(check, reason);
    const fields = { check: check.name, reason };
    if (error instanceof PassingStateError) log.info(fields, 'Health check does not pass yet');
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
  const all = [ping, ...options.checks, shutdown];
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
      // A client that left takes the question with it.
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
    return all.filter(({ on }) => on === undefined || on.includes(endpoint));
  }

  async function answer(endpoint: HealthEndpoint, request: ApiRequest): Promise<BytesResponse> {
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
      handler: (request) => answer(endpoint, request),
    })),
    beginShutdown() {
      ending = true;
    },
  };
}
