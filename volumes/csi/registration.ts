/** Plugins that register with the node by a socket in its registry folder: CSI drivers and devices.
 *
 *      socket appears ─▶ GetInfo ─▶ the handler of its type takes it ─▶ it is told so ─▶ … ─▶ socket gone ─▶ dropped
 *           ▲                │ failed                │ failed: it is told why
 *           └──── backoff ◀──┴───────────────────────┘
 *
 *  Source: pluginregistration.v1; upstream's plugin manager, release 1.24. */
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { PluginInfo, Registration } from '#cri/gen/pluginregistration-v1.ts';
import { createSocketWatcher, type SocketSink } from './socket-watcher.ts';

export interface Plugin {
  readonly name: string;
  /** Where it serves: its own word, or the socket by which it registered. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** What takes the plugins of one type. */
export interface PluginHandler {
  /** Resolves when the plugin is in use. Called again for one that registers anew.
   *  @throws Error that says why it can't be used; it is tried again later */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** The plugin is gone. */
  deregister(name: string): void;
}

export interface PluginRegistryDeps {
  /** Connects with whoever listens at the socket. */
  readonly connect: (socketPath: string) => Promise<Registration>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Shows plugins that are long in registering. */
  readonly waits?: Pick<Waits, 'begin'>;
  /** By type, as in `CSIPlugin`. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

export interface PluginRegistry {
  /** Works until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when every plugin that was there at the start has been asked once. */
  readonly whenSettled: Promise<void>;
}

/** Source: upstream's exponential backoff of plugin operations. */
const BACKOFF = { initialMs: 500, maxMs: 122_000 } as const;

/** A plugin that nobody here can use. */
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
    `no handler registered for plugin type ${JSON.stringify(type)}; known are ${known}`,
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
  // It went away just as it was taken.
  handler.deregister(name);
  signal.throwIfAborted();
}

/** @throws Error; a plugin that is not wanted was told why */
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

  /** The socket's way until it is in use, or gone. @param tried called after the first try */
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
        log.warn({ err, socket: socketPath, ...(final ? {} : { retryMs }) }, 'Plugin was not registered');
        wait?.because(asError(err).message);
        // Nothing that goes by itself.
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
      stops.get(socketPath)?.abort(new Error('the plugin is gone'));
      stops.delete(socketPath);
      backoff.reset(socketPath);
      for (const [key, plugin] of registered) {
        if (plugin.socketPath !== socketPath) continue;
        registered.delete(key);
        log.info({ plugin: plugin.name, socket: socketPath }, 'Plugin is gone');
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
