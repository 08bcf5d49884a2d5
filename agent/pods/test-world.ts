/** A runtime in memory for tests of the pod worker: what is true in it, what the agent has seen of it, and calls that
 *  are answered when the test says so. It notes every call that should not have come. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { RuntimeView } from '../observe/runtime-view.ts';
import type { ObservedContainer, ObservedSandbox } from '../observe/types.ts';
import { initContainers, isSidecar } from './containers.ts';
import type { ActionOf, PodOperations } from './operations/types.ts';

/** How a call goes: well, at once or only when it is answered; without any effect; or with its effect and an error
 *  all the same. */
export type CallFate = 'ok' | 'late' | 'refused' | 'answer-lost';

export const WORLD_POD_UID = 'uid-1';

export class TestWorld {
  /** Broken rules, in words. */
  readonly violations: string[] = [];
  /** Fates of the next calls, in order; `ok` when there is none. */
  readonly fates: CallFate[] = [];
  readonly operations: PodOperations;
  readonly #now: () => number;
  readonly #sandboxes = new Map<string, ObservedSandbox>();
  readonly #containers = new Map<string, ObservedContainer>();
  #view = new RuntimeView();
  /** Open the way of calls that are not answered yet. */
  #gates: (() => void)[] = [];
  readonly #attempts = new Map<string, number>();
  #answersAtOnce = false;
  #mounted = false;
  #removed = false;
  #lastId = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.operations = this.#createOperations();
  }

  /** The agent's view; another one after `restartAgent`. */
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

  /** Answers one of the calls under way. */
  answer(index: number): void {
    this.#gates.splice(index % Math.max(this.#gates.length, 1), 1)[0]?.();
  }

  /** Answers all of them, and those to come at once. */
  answerAll(): void {
    this.#answersAtOnce = true;
    for (const open of this.#gates.splice(0)) open();
  }

  /** A running container ends; the agent is told unless the event is lost. */
  exit(index: number, exitCode: number, told: boolean): void {
    const running = this.running();
    const container = running[index % Math.max(running.length, 1)];
    if (container === undefined) return;
    this.#end(container, exitCode);
    if (told) this.#note(container.sandboxId);
  }

  /** A running container ends, and the agent is notified by an event, which has neither the reason nor the last words. */
  exitByEvent(index: number, exitCode: number): void {
    const running = this.running();
    const container = running[index % Math.max(running.length, 1)];
    if (container === undefined) return;
    this.#end(container, exitCode);
    const end = { state: 'exited', exitCode, finishedAtMs: this.#now(), isProvisional: true } as const;
    this.#view.noteContainer({ ...container, ...end });
  }

  /** The runtime loses a container, dead or alive; the agent sees it at its next look, or never. */
  lose(index: number, told: boolean): void {
    const all = this.containers();
    const container = all[index % Math.max(all.length, 1)];
    if (container === undefined) return;
    this.#containers.delete(container.id);
    if (told) this.#view.forgetContainer(container.id);
  }

  breakSandbox(index: number, told: boolean): void {
    const ready = this.sandboxes().filter((sandbox) => sandbox.ready);
    const sandbox = ready[index % Math.max(ready.length, 1)];
    if (sandbox === undefined) return;
    this.#endSandbox(sandbox.id);
    // What ended in it is told later, if at all.
    if (told) this.#view.noteSandbox({ ...sandbox, ready: false });
  }

  relist(): void {
    const mark = this.#view.mark();
    this.#view.replace({ sandboxes: this.sandboxes(), containers: this.containers() }, mark);
  }

  /** The answers of all calls under way are lost, as is the view. */
  restartAgent(): void {
    this.#view = new RuntimeView();
    this.#gates = [];
    this.relist();
  }

  #createOperations(): PodOperations {
    return {
      mountVolumes: async () => {
        // Takes its time: whoever relies on it before the answer is too early.
        await this.#call('mountVolumes', () => undefined);
        this.#mounted = true;
      },
      unmountVolumes: () => this.#call('unmountVolumes', () => this.#unmount()),
      createSandbox: (_pod, attempt) => this.#call('createSandbox', () => this.#createSandbox(attempt)),
      stopSandbox: (_pod, id) =>
        this.#call('stopSandbox', () => {
          this.#endSandbox(id);
          this.#note(id);
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
      removeContainer: (_pod, { id, name }) =>
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
    if (fate === 'ok' || fate === 'answer-lost') effect();
    if (!this.#answersAtOnce) await new Promise<void>((resolve) => this.#gates.push(resolve));
    // The answer to an agent that has died reaches nobody.
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
    this.#note(id);
  }

  #start(pod: Pod, action: ActionOf<'startContainer'>): void {
    const { spec, sandboxId, attempt: wanted, containerKind: kind } = action;
    const { name } = spec;
    const { previous } = action;
    // As the agent finds by the logs of instances that are lost.
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
    this.#note(sandboxId);
  }

  /** Init containers that should have come first, unless the pod was initialized in this sandbox before. */
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
    this.#note(container.sandboxId);
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
    // What only the runtime and the files say.
    const words = {
      reason: exitCode === 0 ? 'Completed' : 'OOMKilled',
      message: `last words of ${container.id}`,
    };
    this.#containers.set(container.id, { ...ended, ...words });
  }

  #endSandbox(id: string): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox !== undefined) this.#sandboxes.set(id, { ...sandbox, ready: false });
    for (const container of this.running()) if (container.sandboxId === id) this.#end(container, 137);
  }

  /** The agent learns how the sandbox and what is in it are now. */
  #note(sandboxId: string): void {
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) this.#view.noteSandbox(sandbox);
    for (const container of this.containers()) {
      if (container.sandboxId === sandboxId) this.#view.noteContainer(container);
    }
  }
}
