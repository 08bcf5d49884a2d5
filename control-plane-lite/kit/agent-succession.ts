/** Connection pools to one service, of which the newest is in use. */
import type { Agent } from 'undici';

export class AgentSuccession {
  /** The newest first, then those whose last request has not ended. */
  #agents: readonly [Agent, ...Agent[]];

  constructor(agent: Agent) {
    this.#agents = [agent];
  }

  get current(): Agent {
    return this.#agents[0];
  }

  /** Uses another pool from now on. The former one ends with its last request. */
  replace(agent: Agent): void {
    const former = this.current;
    this.#agents = [agent, ...this.#agents];
    void this.#end(former);
  }

  async #end(former: Agent): Promise<void> {
    await former.close();
    const [newest, ...others] = this.#agents;
    this.#agents = [newest, ...others.filter((each) => each !== former)];
  }

  /** Aborts all requests. */
  async destroy(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.destroy()));
  }
}
