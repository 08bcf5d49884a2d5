/** In-memory runtime for tests of the pod worker: its true state, the view of the agent, and calls that
 *  complete when the test says so. It records every call that violates a rule. */
import type { Pod } from '#api/gen/core-v1.ts';
import { RuntimeView } from '../observe/runtime-view.ts';
import type { ObservedContainer, ObservedSandbox } from '../observe/types.ts';
import { initContainers, isSidecar } from './decide/containers.ts';
import type { ActionOf } from './decide/decision-types.ts';
import type { PodOperations } from './worker-contract.ts';

/** Outcome of a call: success, at once or when the test completes it; failure without effect; or failure
 *  after it took effect. */
export type CallFate = 'ok' | 'late' | 'refused' | 'response-lost';

export const WORLD_POD_UID = 'uid-1';

export class TestWorld {
  /** Violated rules, as text. */
  readonly violations: string[] = [];
  /** Outcomes of the next calls, in order; `ok` by default. */
  readonly fates: CallFate[] = [];
  readonly operations: PodOperations;
  readonly #now: () => number;
  readonly #sandboxes = new Map<string, ObservedSandbox>();
  readonly #containers = new Map<string, ObservedContainer>();
  #view = new RuntimeView();
  /** Resolvers of pending calls. */
  #gates: (() => void)[] = [];
  readonly #attempts = new Map<string, number>();
  #completesAtOnce = false;
  #mounted = false;
  #removed = false;
  #lastId = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.operations = this.#createOperations();
  }

  /** The view of the agent; replaced by `restartAgent`. */
  get view(): RuntimeView {
    return this.#view;
  }

  get isMounted(): boolean {
    return this.#mounted;
  }

  get isRemoved(): boolean {
    return this.#removed;
  }

  sandboxes(): readonly ObservedSandbox[] {
    return [...this.#sandboxes.values()];
  }

  containers(): readonly ObservedContainer[] {
    return [...this.#containers.values()];
  }

  running(): readonly ObservedContainer[] {
    return this.containers().filter(({ state }) => state === 'running');
  }

  /** Completes one of the pending calls. */
  complete(index: number): void {
    this.#gates.splice(index % Math.max(this.#gates.length, 1), 1)[0]?.();
  }

  /** Completes all pending calls; later ones complete at once. */
  completeAll(): void {
    this.#completesAtOnce = true;
    for (const open of this.#gates.splice(0)) open();
  }

  /** A running container exits; the agent is notified unless the event is lost. */
  exit(index: number, exitCode: number, notified: boolean): void {
    const running = this.running();
    const container = running[index % Math.max(running.length, 1)];
    if (container === undefined) return;
    this.#end(container, exitCode);
    if (notified) this.#notify(container.sandboxId);
  }

  /** A running container exits, and the agent is notified by an event, which lacks the reason and the
   *  termination message. */
  exitByEvent(index: number, exitCode: number): void {
    const running = this.running();
    const container = running[index % Math.max(running.length, 1)];
    if (container === undefined) return;
    this.#end(container, exitCode);
    const end = { state: 'exited', exitCode, finishedAtMs: this.#now(), isProvisional: true } as const;
    this.#view.noteContainer({ ...container, ...end });
  }

  /** The runtime loses a container, dead or alive; the agent observes it at its next list, or never. */
  lose(index: number, notified: boolean): void {
    const all = this.containers();
    const container = all[index % Math.max(all.length, 1)];
    if (container === undefined) return;
    this.#containers.delete(container.id);
    if (notified) this.#view.forgetContainer(container.id);
  }

  breakSandbox(index: number, notified: boolean): void {
    const ready = this.sandboxes().filter((sandbox) => sandbox.ready);
    const sandbox = ready[index % Math.max(ready.length, 1)];
    if (sandbox === undefined) return;
    this.#endSandbox(sandbox.id);
    // Exits of its containers are reported later, if ever.
    if (notified) this.#view.noteSandbox({ ...sandbox, ready: false });
  }

  relist(): void {
    const mark = this.#view.mark();
    this.#view.replace({ sandboxes: this.sandboxes(), containers: this.containers() }, mark);
  }

  /** The responses of all pending calls are lost, as is the view. */
  restartAgent(): void {
    this.#view = new RuntimeView();
    this.#gates = [];
    this.relist();
  }

  #createOperations(): PodOperations {
    return {
      mountVolumes: async () => {
        // Takes time, so that reliance on it before the response is detected.
        await this.#call('mountVolumes', () => undefined);
        this.#mounted = true;
      },
      unmountVolumes: () => this.#call('unmountVolumes', () => this.#unmount()),
      createSandbox: (_pod, attempt) => this.#call('createSandbox', () => this.#createSandbox(attempt)),
      stopSandbox: (id) =>
        this.#call('stopSandbox', () => {
          this.#endSandbox(id);
          this.#notify(id);
        }),
      startContainer: async (pod, action) => {
        try {
          await this.#call(`start ${action.spec.name}`, () => this.#start(pod, action));
          return { kind: 'started' };
        } catch (thrown) {
          return { kind: 'failed', reason: 'CreateContainerError', message: String(thrown) };
        }
      },
      killContainer: (_pod, { container }) =>
        this.#call(`kill ${container.name}`, () => this.#kill(container.id)),
      removeContainer: ({ id, name }) =>
        this.#call(`remove ${name}`, () => {
          this.#containers.delete(id);
          this.#view.forgetContainer(id);
        }),
      removePod: () => this.#call('removePod', () => this.#removePod()),
    };
  }

  async #call(name: string, effect: () => void): Promise<void> {
    const view = this.#view;
    const fate = this.fates.shift() ?? 'ok';
    if (this.#removed && name !== 'removePod') this.violations.push(`${name} after the pod was removed`);
    if (fate === 'ok' || fate === 'response-lost') effect();
    if (!this.#completesAtOnce) await new Promise<void>((resolve) => this.#gates.push(resolve));
    // No agent receives the response.
    if (view !== this.#view) return new Promise(() => undefined);
    if (fate === 'late') {
      if (this.#removed) this.violations.push(`${name} was under way when the pod was removed`);
      effect();
    }
    if (fate === 'ok' || fate === 'late') return undefined;
    this.relist();
    throw new Error(`${name} was ${fate}`);
  }

  #unmount(): void {
    if (this.running().length > 0) this.violations.push('volumes unmounted under running containers');
    this.#mounted = false;
  }

  #createSandbox(attempt: number): void {
    if (this.sandboxes().some(({ ready }) => ready)) throw new Error('name is reserved');
    this.#lastId += 1;
    const id = `s${this.#lastId}`;
    const names = { podUID: WORLD_POD_UID, podNamespace: 'default', podName: 'web' };
    this.#sandboxes.set(id, { id, ...names, attempt, ready: true, createdAtMs: this.#now(), ips: [] });
    this.#notify(id);
  }

  #start(pod: Pod, action: ActionOf<'startContainer'>): void {
    const { spec, sandboxId, attempt: wanted, containerKind: kind } = action;
    const { name } = spec;
    const { previous } = action;
    // As the agent determines from the logs of lost instances.
    const attempt = previous === undefined ? Math.max(wanted, this.#attempts.get(name) ?? 0) : wanted;
    this.#attempts.set(name, attempt + 1);
    if (!this.#mounted) this.violations.push(`${name} started without volumes`);
    if (this.running().some((container) => container.name === name))
      this.violations.push(`${name} runs twice`);
    if (kind === 'app') this.violations.push(...this.#missingInits(pod, name, sandboxId));
    if (this.#sandboxes.get(sandboxId)?.ready !== true) throw new Error('sandbox is not ready');
    this.#lastId += 1;
    const id = `c${this.#lastId}`;
    const times = { createdAtMs: this.#now(), startedAtMs: this.#now(), finishedAtMs: 0 };
    const rest = { exitCode: 0, reason: '', message: '', image: '', imageID: '', hash: '' };
    const own = { id, podUID: WORLD_POD_UID, sandboxId, name, kind, attempt };
    this.#containers.set(id, { ...own, ...times, ...rest, state: 'running', fallsBackToLogs: false });
    this.#notify(sandboxId);
  }

  /** Init containers that should have run before, unless the pod was initialized in this sandbox earlier. */
  #missingInits(pod: Pod, app: string, sandboxId: string): readonly string[] {
    const here = this.containers().filter((container) => container.sandboxId === sandboxId);
    if (here.some(({ kind }) => kind === 'app')) return [];
    const began = (name: string): boolean => here.some((container) => container.name === name);
    const succeeded = (name: string): boolean =>
      here.some((one) => one.name === name && one.state === 'exited' && one.exitCode === 0);
    return initContainers(pod)
      .filter((init) => !(isSidecar(init) ? began(init.name) : succeeded(init.name)))
      .map((init) => `${app} started before ${init.name}`);
  }

  #kill(id: string): void {
    const container = this.#containers.get(id);
    if (container === undefined) return this.#view.forgetContainer(id);
    if (container.state === 'running') this.#end(container, 143);
    this.#notify(container.sandboxId);
  }

  #removePod(): void {
    if (this.running().length > 0) this.violations.push('pod removed while containers run');
    if (this.#mounted) this.violations.push('pod removed with its volumes');
    this.#containers.clear();
    this.#sandboxes.clear();
    this.#removed = true;
    this.relist();
  }

  #end(container: ObservedContainer, exitCode: number): void {
    const ended = { ...container, state: 'exited', exitCode, finishedAtMs: this.#now() } as const;
    // Known only to the runtime and the files.
    const details = {
      reason: exitCode === 0 ? 'Completed' : 'OOMKilled',
      message: `last words of ${container.id}`,
    };
    this.#containers.set(container.id, { ...ended, ...details });
  }

  #endSandbox(id: string): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox !== undefined) this.#sandboxes.set(id, { ...sandbox, ready: false });
    for (const container of this.running()) if (container.sandboxId === id) this.#end(container, 137);
  }

  /** Updates the view of the agent with the current state of the sandbox and its containers. */
  #notify(sandboxId: string): void {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.#view.noteSandbox(sandbox);
    for (const container of this.containers()) {
      if (container.sandboxId === sandboxId) this.#view.noteContainer(container);
    }
  }
}
