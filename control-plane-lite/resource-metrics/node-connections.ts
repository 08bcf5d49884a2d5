/** Connections to the agents of nodes that live from one scrape to the next. A new one is made only after the agent has
 *  proved that it is the node's, because the handshake shows it this server's certificate. */
import { type ClientRequestArgs } from 'node:http';
import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';
import { asError } from '#api/kit/errno.ts';
import type { Agents, Target } from '../agents/agents.ts';

/** Prevents idle connections from staying open when scraping stops. */
const IDLE_MS = 30_000;

type Connected = (error: Error | null, socket: Duplex) => void;

/** TLS options are the agent's own: connections with options of a single request are never used again. */
class NodeAgent extends Agent {
  readonly #prove: () => Promise<void>;

  constructor({ tls }: Target, prove: () => Promise<void>) {
    super({ ...tls, keepAlive: true, maxSockets: 1, timeout: IDLE_MS });
    this.#prove = prove;
  }

  override createConnection(options: ClientRequestArgs, connected?: Connected): Duplex | null | undefined {
    this.#connect(options).then(
      (socket) => connected?.(null, socket),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Node expects no socket with an error
      (thrown: unknown) => connected?.(asError(thrown), undefined as unknown as Duplex),
    );
    return undefined;
  }

  async #connect(options: ClientRequestArgs): Promise<Duplex> {
    await this.#prove();
    const socket = super.createConnection(options);
    if (socket === null || socket === undefined) throw new Error('failed to connect');
    return socket;
  }
}

export interface NodeConnections {
  /** Where to send a request to a node, and over which connections, which end with the signal.
   *  @throws StatusError if the node has no usable address */
  find(node: string, signal: AbortSignal): Promise<NodeWay>;
}

export interface NodeWay {
  readonly target: Target;
  readonly agent: Agent;
}

const placeOf = ({ host, port, tls }: Target): string => `${host} ${port} ${tls?.servername ?? ''}`;

/** Reports whether connections to one target may be used for the other: same place and same certificates. */
const isSameWay = (left: Target, right: Target): boolean =>
  placeOf(left) === placeOf(right) &&
  left.tls?.cert === right.tls?.cert &&
  String(left.tls?.ca) === String(right.tls?.ca);

export function createNodeConnections({ locate, prove }: Pick<Agents, 'locate' | 'prove'>): NodeConnections {
  const ways = new Map<string, NodeWay>();
  return {
    async find(node, signal) {
      const target = await locate(node);
      signal.throwIfAborted();
      const known = ways.get(node);
      if (known !== undefined && isSameWay(known.target, target)) return known;
      known?.agent.destroy();
      const way = { target, agent: new NodeAgent(target, () => prove(node, target)) };
      ways.set(node, way);
      const drop = (): void => {
        way.agent.destroy();
        if (ways.get(node) === way) ways.delete(node);
      };
      signal.addEventListener('abort', drop, { once: true });
      return way;
    },
  };
}
