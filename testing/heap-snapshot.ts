/** Reader of V8 heap snapshots that reports what retains the strings matching a pattern. */
import { readFile } from 'node:fs/promises';

export interface Held {
  /** From the string outwards: names of members and their owners; keys and indexes are omitted. */
  readonly path: string;
  readonly count: number;
  /** One of the strings. */
  readonly example: string;
}

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[], ...unknown[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[], ...unknown[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

const STRING_TYPES: readonly string[] = ['string', 'concatenated string', 'sliced string'];
/** Tables of the engine that retain nothing by themselves. */
const WEAK_TABLES: readonly string[] = [
  '(Internalized strings)',
  '(External strings)',
  '(Weak global handles)',
];
const MAX_NAME_LENGTH = 40;
const PATH_STEPS = 8;

/** Members of the format's records. */
class Graph {
  readonly #data: Snapshot;
  readonly #nodeSize: number;
  readonly #edgeSize: number;
  readonly count: number;
  /** Index of the first edge of each node. */
  readonly firstEdge: Int32Array;

  constructor(data: Snapshot) {
    this.#data = data;
    this.#nodeSize = data.snapshot.meta.node_fields.length;
    this.#edgeSize = data.snapshot.meta.edge_fields.length;
    this.count = data.nodes.length / this.#nodeSize;
    this.firstEdge = new Int32Array(this.count + 1);
    const edgeCount = data.snapshot.meta.node_fields.indexOf('edge_count');
    for (let node = 0; node < this.count; node += 1)
      this.firstEdge[node + 1] =
        (this.firstEdge[node] ?? 0) + (data.nodes[node * this.#nodeSize + edgeCount] ?? 0);
  }

  nodeType(node: number): string {
    return this.#data.snapshot.meta.node_types[0][this.#data.nodes[node * this.#nodeSize] ?? 0] ?? '';
  }

  nodeName(node: number): string {
    return this.#data.strings[this.#data.nodes[node * this.#nodeSize + 1] ?? 0] ?? '';
  }

  edgeType(edge: number): string {
    return this.#data.snapshot.meta.edge_types[0][this.#data.edges[edge * this.#edgeSize] ?? 0] ?? '';
  }

  edgeName(edge: number): string {
    const name = this.#data.edges[edge * this.#edgeSize + 1] ?? 0;
    return ['element', 'hidden'].includes(this.edgeType(edge)) ? '' : (this.#data.strings[name] ?? '');
  }

  target(edge: number): number {
    return (this.#data.edges[edge * this.#edgeSize + 2] ?? 0) / this.#nodeSize;
  }
}

/** Returns the edge by which each node is first reached from the root, and the node that it leaves; -1 for
 *  unreachable nodes. */
function reach(
  graph: Graph,
  except: readonly string[],
): { readonly from: Int32Array; readonly by: Int32Array } {
  const from = new Int32Array(graph.count).fill(-1);
  const by = new Int32Array(graph.count).fill(-1);
  from[0] = 0;
  const queue = [0];
  for (const node of queue) {
    if (WEAK_TABLES.includes(graph.nodeName(node))) continue;
    for (let edge = graph.firstEdge[node] ?? 0; edge < (graph.firstEdge[node + 1] ?? 0); edge += 1) {
      const next = graph.target(edge);
      if (graph.edgeType(edge) === 'weak' || from[next] !== -1 || except.includes(graph.edgeName(edge)))
        continue;
      from[next] = node;
      by[next] = edge;
      queue.push(next);
    }
  }
  return { from, by };
}

/** Returns strings that match the pattern, grouped by their retainers, largest groups first.
 *  @param except names of members to ignore: strings that only they retain are omitted */
export async function retainedStrings(
  file: string,
  pattern: RegExp,
  except: readonly string[] = [],
): Promise<readonly Held[]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- V8 wrote it
  const graph = new Graph(JSON.parse(await readFile(file, 'utf8')) as Snapshot);
  const { from, by } = reach(graph, except);
  const plain = (name: string): string =>
    pattern.test(name) || /^\d*$/.test(name) ? '*' : name.slice(0, MAX_NAME_LENGTH);

  function pathOf(node: number): string {
    const steps: string[] = [];
    for (let at = node; at !== 0 && steps.length < PATH_STEPS; at = from[at] ?? 0) {
      const owner = from[at] ?? 0;
      const type = graph.nodeType(owner);
      const name = STRING_TYPES.includes(type) ? '"…"' : plain(graph.nodeName(owner));
      steps.push(`${plain(graph.edgeName(by[at] ?? 0))} of ${name}`);
    }
    return steps.join(' < ');
  }

  const held = new Map<string, Held>();
  for (let node = 0; node < graph.count; node += 1) {
    if (from[node] === -1 || !STRING_TYPES.includes(graph.nodeType(node))) continue;
    const example = graph.nodeName(node);
    if (!pattern.test(example)) continue;
    const path = pathOf(node);
    held.set(path, { path, example, count: (held.get(path)?.count ?? 0) + 1 });
  }
  return [...held.values()].toSorted((a, b) => b.count - a.count);
}
