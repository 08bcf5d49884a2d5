/** Starts the controllers of `controllers/table.ts`, which use the verbs as clients do. */
import { joinPolicy } from '../authz/join-policy.ts';
import { type ControllerHost, runController } from '../controllers/skeleton/run.ts';
import { CONTROLLERS, PERMANENT_CONTROLLERS } from '../controllers/table.ts';
import { type Children, createChildren } from '../controllers/workloads-kit/children.ts';
import { type PodFacts, podFacts } from '../controllers/workloads-kit/pod-facts.ts';
import { createMissing } from './bootstrap-objects.ts';
import { type ControllerSources, controllerSettings } from './controller-settings.ts';
import type { Core } from './core.ts';

interface SharedPods {
  /** Created on first use. */
  get(): Children<PodFacts>;
  close(): void;
}

function createSharedPods({ registry, cache }: Core): SharedPods {
  let pods: Children<PodFacts> | undefined;
  return {
    get() {
      const resource = registry.find('', 'v1', 'pods');
      if (resource === undefined) throw new Error('pods are not served');
      pods ??= createChildren(cache.resource(resource.storage), podFacts);
      return pods;
    },
    close: () => pods?.close(),
  };
}

/** Runs until the signal is aborted. @throws Error that names an unreadable file */
export async function runControllers(
  core: Core,
  { observeUpdate, ...sources }: ControllerSources & Pick<ControllerHost, 'observeUpdate'>,
  signal: AbortSignal,
): Promise<void> {
  const { registry, cache, verbs, clock, log, vocabulary, gates, config } = core;
  const settings = await controllerSettings(core, sources);
  if (config.enableBootstrapTokenAuth && core.access.rbac !== undefined)
    await createMissing({ registry, verbs, vocabulary }, joinPolicy(vocabulary), signal);
  const pods = createSharedPods(core);
  const host: ControllerHost = {
    registry,
    cache,
    verbs,
    clock,
    log,
    vocabulary,
    gates,
    settings,
    observeUpdate,
    observeQueue: core.observeQueue,
    pods: () => pods.get(),
  };
  const selected = CONTROLLERS.filter(({ name }) => core.controllers.has(name));
  await Promise.all(
    [...selected, ...PERMANENT_CONTROLLERS].map((controller) => runController(controller, host, signal)),
  );
  pods.close();
}
