/** Registration of plugins through sockets in the registry directory: CSI drivers and device plugins.
 *
 *      socket appears ─▶ GetInfo ─▶ handler of its type accepts ─▶ success is notified ─▶ … ─▶ socket gone ─▶ removed
 *           ▲                │ failed                 │ failed: the error is notified
 *           └──── backoff ◀──┴────────────────────────┘
 *
 *  Source: pluginregistration.v1; upstream's plugin manager, release 1.24. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { PluginInfo, Registration } from '#cri/gen/pluginregistration-v1.ts';
import { createSocketWatcher, type SocketSink } from './socket-watcher.ts';

export interface Plugin {
  readonly name: string;
  /** Address of the service: as reported by the plugin, or its registration socket. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Handler of all plugins of one type. */
export interface PluginHandler {
  /** Resolves once the plugin is in use. Called again when a plugin registers again.
   *  @throws Error with the reason why it cannot be used; it is retried later */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** The plugin was removed. */
  deregister(name: string): void;
}

export interface PluginRegistryDeps {
  /** Connects to the socket. */
  readonly connect: (socketPath: string) => Promise<Registration>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports plugins whose registration takes long. */
  readonly waits?: Pick<Waits, 'begin'>;
  /** By type, such as `CSIPlugin`. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

export interface PluginRegistry {
  /** Runs until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once registration of every initial plugin has been tried once. */
  readonly whenSettled: Promise<void>;
}

/** Source: upstream's exponential backoff of plugin operations. */
const BACKOFF = { initialMs: 500, maxMs: 122_000 } as const;

/** A plugin type without a handler. */
class UnknownTypeError extends Error {
  override readonly name = 'UnknownTypeError';
}

interface Registered {
  readonly handler: PluginHandler;
  readonly name: string;
  readonly socketPath: string;
}

function handlerOf({ handlers }: PluginRegistryDeps, { type }: PluginInfo): PluginHandler {
  const handler = handlers.get(type);
  if (handler !== undefined) return handler;
  const known = [...handlers.keys()].join(', ');
  throw new UnknownTypeError(
    `no handler registered for plugin type ${JSON.stringify(type)}; known types: ${known}`,
  );
}

async function take(
  handler: PluginHandler,
  { name, endpoint, supportedVersions: versions }: PluginInfo,
  socketPath: string,
  signal: AbortSignal,
): Promise<void> {
  await handler.register({ name, endpoint: endpoint === '' ? socketPath : endpoint, versions }, signal);
  if (!signal.aborted) return;
  // The plugin was removed during its registration.
  handler.deregister(name);
  signal.throwIfAborted();
}

/** @throws Error; a rejected plugin has been notified of the reason */
async function register(
  deps: PluginRegistryDeps,
  socketPath: string,
  signal: AbortSignal,
  note: (type: string, plugin: Registered) => void,
): Promise<void> {
  const registration = await deps.connect(socketPath);
  const info = await registration.getInfo({}, { signal });
  const { name, type } = info;
  try {
    const handler = handlerOf(deps, info);
    await take(handler, info, socketPath, signal);
    note(type, { handler, name, socketPath });
  } catch (thrown) {
    const error = asError(thrown).message;
    await registration
      .notifyRegistrationStatus({ pluginRegistered: false, error }, { signal })
      .catch(() => undefined);
    throw thrown;
  }
  await registration.notifyRegistrationStatus({ pluginRegistered: true }, { signal });
  deps.log.info({ type, plugin: name, socket: socketPath }, 'Plugin registered');
}

export function createPluginRegistry(given: PluginRegistryDeps, dir: string): PluginRegistry {
  const { clock } = given;
  const log = given.log.child({ component: 'plugins' });
  const deps = { ...given, log };
  const backoff = createBackoff(BACKOFF);
  const stops = new Map<string, AbortController>();
  /** By type and name. */
  const registered = new Map<string, Registered>();
  const note = (type: string, plugin: Registered): void =>
    void registered.set(`${type} ${plugin.name}`, plugin);
  const firstTries: Promise<void>[] = [];
  let reading = true;

  /** Follows the socket until its plugin is in use, or the socket is removed. @param tried called after
   *  the first attempt */
  async function follow(socketPath: string, signal: AbortSignal, tried: () => void): Promise<void> {
    const wait = deps.waits?.begin(`plugin at ${socketPath} to register`);
    signal.addEventListener('abort', () => wait?.end(), { once: true });
    while (!signal.aborted) {
      try {
        await register(deps, socketPath, signal, note);
        backoff.reset(socketPath);
        wait?.end();
        return;
      } catch (err) {
        if (signal.aborted) return;
        const final = err instanceof UnknownTypeError;
        const retryMs = backoff.fail(socketPath, clock.now());
        log.warn({ err, socket: socketPath, ...(final ? {} : { retryMs }) }, 'Failed to register plugin');
        wait?.because(asError(err).message);
        // The error is not going to resolve itself.
        if (final) wait?.end();
        if (final) return;
        tried();
        await sleep(clock, retryMs, signal).catch(() => undefined);
      } finally {
        tried();
      }
    }
  }

  const sink: SocketSink = {
    appeared(socketPath) {
      const stop = new AbortController();
      stops.set(socketPath, stop);
      const tried = Promise.withResolvers<void>();
      if (reading) firstTries.push(tried.promise);
      void follow(socketPath, stop.signal, tried.resolve);
    },
    gone(socketPath) {
      stops.get(socketPath)?.abort(new Error('the plugin has been removed'));
      stops.delete(socketPath);
      backoff.reset(socketPath);
      for (const [key, plugin] of registered) {
        if (plugin.socketPath !== socketPath) continue;
        registered.delete(key);
        log.info({ plugin: plugin.name, socket: socketPath }, 'Plugin unregistered');
        plugin.handler.deregister(plugin.name);
      }
    },
  };

  const sockets = createSocketWatcher({ clock, log }, dir, sink);
  async function settle(): Promise<void> {
    await sockets.whenRead;
    reading = false;
    await Promise.all(firstTries);
  }
  const whenSettled = settle();

  return {
    whenSettled,
    async run(signal) {
      await sockets.run(signal);
      for (const stop of stops.values()) stop.abort(signal.reason);
    },
  };
}
