/** Decides which connection of a port is closed when the limit is reached. Authenticated clients stay;
 *  among the others the oldest is closed, so that idle connections lock no client out, not even clients of
 *  the same address. No address can use the whole port. Knows no sockets and closes nothing itself. */

export interface ShareOptions {
  /** Maximum number of connections of the port. */
  readonly most: number;
  /** Maximum number of connections of one address. Default: three quarters of the port's. */
  readonly mostPerAddress?: number;
}

export interface ConnectionShares {
  /** Adds a connection. Returns the connection to close, which may be this one, or `undefined`. */
  arrive(connection: string, address: string): string | undefined;
  /** Marks its client as authenticated. */
  prove(connection: string): void;
  leave(connection: string): void;
  readonly size: number;
}

interface Address {
  readonly name: string;
  readonly proven: Set<string>;
  /** Oldest first. */
  readonly unproven: Set<string>;
}

const sizeOf = ({ proven, unproven }: Address): number => proven.size + unproven.size;

export function createConnectionShares({ most, mostPerAddress }: ShareOptions): ConnectionShares {
  const share = mostPerAddress ?? Math.max(1, Math.floor((most * 3) / 4));
  const addresses = new Map<string, Address>();
  const connections = new Map<string, Address>();

  /** Returns the address with most unauthenticated connections. */
  function fullest(): Address | undefined {
    let found: Address | undefined;
    for (const address of addresses.values()) {
      if (address.unproven.size > (found?.unproven.size ?? 0)) found = address;
    }
    return found;
  }

  function forget(connection: string): void {
    const address = connections.get(connection);
    if (address === undefined) return;
    connections.delete(connection);
    address.proven.delete(connection);
    address.unproven.delete(connection);
    if (sizeOf(address) === 0) addresses.delete(address.name);
  }

  return {
    arrive(connection, name) {
      const isFull = connections.size >= most;
      const own = addresses.get(name);
      const crowded = own !== undefined && sizeOf(own) >= share ? own : isFull ? fullest() : undefined;
      const [oldest] = crowded?.unproven ?? [];
      if ((isFull || crowded !== undefined) && oldest === undefined) return connection;
      if (oldest !== undefined) forget(oldest);
      const address = addresses.get(name) ?? { name, proven: new Set(), unproven: new Set() };
      addresses.set(name, address);
      connections.set(connection, address);
      address.unproven.add(connection);
      return oldest;
    },
    prove(connection) {
      const address = connections.get(connection);
      if (address?.unproven.delete(connection) === true) address.proven.add(connection);
    },
    leave: forget,
    get size() {
      return connections.size;
    },
  };
}

/** Returns the unit that counts as one client: an IPv4 address, or the network of an IPv6 address, since a
 *  client has many of these. */
export function clientNetwork(address: string): string {
  const [plain = ''] = address.split('%');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain);
  if (mapped !== null) return mapped[1] ?? '';
  if (!plain.includes(':')) return plain;
  const [before = '', after] = plain.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(before), groups(after ?? '')];
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const all = [...head, ...Array.from({ length: zeros }, () => '0'), ...tail];
  const network = all.slice(0, 4).map((word) => Number.parseInt(word, 16).toString(16));
  return `${network.join(':')}::/64`;
}
