/** The agent's chains of packet rules: their rules, and the changes that establish or remove them. Pure; rules
 *  are written as `iptables-save` prints them, so that they can be compared.
 *  Source: upstream's `syncNetworkUtil`, release 1.24; the texts of comments are those of upstream. */

export type AddressFamily = 'ipv4' | 'ipv6';
export const TABLES = ['nat', 'filter', 'mangle'] as const;
export type PacketTable = (typeof TABLES)[number];

export interface PacketRuleOptions {
  /** Prefix of the names of chains. */
  readonly prefix: string;
  /** Name of the platform, for the comments of rules. */
  readonly platform: string;
  /** Bits of the packet mark; undefined for none of the chains that other programs share. */
  readonly bits: { readonly masquerade: number; readonly drop: number } | undefined;
  /** Ranges of pods whose packets to the destination keep their source address. */
  readonly unmasqueraded: readonly { readonly source: string; readonly destination: string }[];
}

export interface PacketChain {
  readonly table: PacketTable;
  readonly name: string;
  readonly rules: readonly string[];
  /** Chains of the kernel that begin with a jump to this one, with the match of the jump. */
  readonly from: readonly { readonly chain: string; readonly match?: string }[];
}

const comment = (text: string): string => `-m comment --comment "${text}"`;

/** `0x4000` for bit 14. */
export const markOf = (bit: number): string => `0x${(2 ** bit).toString(16)}`;

function utilityChains(
  { prefix, platform }: Pick<PacketRuleOptions, 'prefix' | 'platform'>,
  bits: NonNullable<PacketRuleOptions['bits']>,
  family: AddressFamily,
): readonly PacketChain[] {
  const drop = markOf(bits.drop);
  const masquerade = markOf(bits.masquerade);
  // A packet from outside to a loopback address, unless it belongs to a forwarded connection.
  const localnet =
    `! -s 127.0.0.0/8 -d 127.0.0.0/8 ${comment('block incoming localnet connections')} ` +
    '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';
  return [
    {
      table: 'nat',
      name: `${prefix}-MARK-DROP`,
      rules: [`-j MARK --set-xmark ${drop}/${drop}`],
      from: [],
    },
    {
      table: 'nat',
      name: `${prefix}-MARK-MASQ`,
      rules: [`-j MARK --set-xmark ${masquerade}/${masquerade}`],
      from: [],
    },
    {
      table: 'nat',
      name: `${prefix}-POSTROUTING`,
      rules: [
        `-m mark ! --mark ${masquerade}/${masquerade} -j RETURN`,
        // Removes the mark, as the packet may traverse the stack again.
        `-j MARK --set-xmark ${masquerade}/0x0`,
        `${comment(`${platform} service traffic requiring SNAT`)} -j MASQUERADE --random-fully`,
      ],
      from: [{ chain: 'POSTROUTING', match: comment(`${platform} postrouting rules`) }],
    },
    {
      table: 'filter',
      name: `${prefix}-FIREWALL`,
      rules: [
        ...(family === 'ipv4' ? [localnet] : []),
        `${comment(`${platform} firewall for dropping marked packets`)} -m mark --mark ${drop}/${drop} -j DROP`,
      ],
      from: [{ chain: 'INPUT' }, { chain: 'OUTPUT' }],
    },
    // Its existence tells others which of the two packet filters of the kernel is in use.
    { table: 'mangle', name: `${prefix}-IPTABLES-HINT`, rules: [], from: [] },
  ];
}

const familyOf = (range: string): AddressFamily => (range.includes(':') ? 'ipv6' : 'ipv4');

function unmasqueradedChain(
  prefix: string,
  ranges: PacketRuleOptions['unmasqueraded'],
  family: AddressFamily,
): readonly PacketChain[] {
  const own = ranges.filter(
    ({ source, destination }) => familyOf(source) === family && familyOf(destination) === family,
  );
  if (own.length === 0) return [];
  const rules = own.map(({ source, destination }) =>
    destination.endsWith('/0') ? `-s ${source} -j ACCEPT` : `-s ${source} -d ${destination} -j ACCEPT`,
  );
  return [{ table: 'nat', name: `${prefix}-NON-MASQ`, rules, from: [{ chain: 'POSTROUTING' }] }];
}

/** Returns the chains to establish in the tables of one address family. */
export function wantedChains(options: PacketRuleOptions, family: AddressFamily): readonly PacketChain[] {
  const { prefix, bits, unmasqueraded } = options;
  return [
    ...(bits === undefined ? [] : utilityChains(options, bits, family)),
    ...unmasqueradedChain(prefix, unmasqueraded, family),
  ];
}

interface SavedTable {
  readonly chains: ReadonlySet<string>;
  readonly rulesOf: (chain: string) => readonly string[];
}

/** Parses one table as `iptables-save -t` prints it. */
function parseTable(text: string): SavedTable {
  const lines = text.split('\n');
  const chains = new Set(
    lines.flatMap((line) => (line.startsWith(':') ? [line.slice(1).split(' ', 1)[0] ?? ''] : [])),
  );
  return {
    chains,
    rulesOf: (chain) => {
      const head = `-A ${chain} `;
      return lines.filter((line) => line.startsWith(head)).map((line) => line.slice(head.length).trimEnd());
    },
  };
}

const jump = (name: string, match?: string): string => `${match === undefined ? '' : `${match} `}-j ${name}`;

const sameRules = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((rule, index) => rule === others[index]);

/** Returns the input of `iptables-restore --noflush` that establishes what is missing in a table; undefined when
 *  the table has everything.
 *  @param saved output of `iptables-save -t` */
export function establishingInput(
  table: PacketTable,
  chains: readonly PacketChain[],
  saved: string,
): string | undefined {
  const current = parseTable(saved);
  const lines = chains
    .filter((chain) => chain.table === table)
    .flatMap(({ name, rules, from }) => {
      const isWhole = current.chains.has(name) && sameRules(rules, current.rulesOf(name));
      // Declaring a chain empties it in the same transaction.
      const own = isWhole ? [] : [`:${name} - [0:0]`, ...rules.map((rule) => `-A ${name} ${rule}`)];
      const jumps = from.flatMap(({ chain, match }) =>
        current.rulesOf(chain).includes(jump(name, match)) ? [] : [`-I ${chain} 1 ${jump(name, match)}`],
      );
      return [...own, ...jumps];
    });
  return restoreInput(table, lines);
}

/** Options with which every chain exists. */
const everything = (prefix: string): PacketRuleOptions => ({
  prefix,
  platform: '',
  bits: { masquerade: 0, drop: 1 },
  unmasqueraded: [{ source: '0.0.0.0/0', destination: '0.0.0.0/0' }],
});

/** Returns the input that removes the agent's chains with the jumps to them. Chains to which other programs jump
 *  remain. */
export function removingInput(table: PacketTable, prefix: string, saved: string): string | undefined {
  const current = parseTable(saved);
  const names = wantedChains(everything(prefix), 'ipv4').filter(
    (chain) => chain.table === table && current.chains.has(chain.name),
  );
  const lines = names.flatMap(({ name, from }) => {
    const jumpsOf = (chain: string): readonly string[] =>
      current.rulesOf(chain).filter((rule) => rule === jump(name) || rule.endsWith(` ${jump(name)}`));
    const own = from.map(({ chain }) => chain);
    const isShared = [...current.chains].some((chain) => !own.includes(chain) && jumpsOf(chain).length > 0);
    if (isShared) return [];
    const jumps = own.flatMap((chain) => jumpsOf(chain).map((rule) => `-D ${chain} ${rule}`));
    return [...jumps, `-F ${name}`, `-X ${name}`];
  });
  return restoreInput(table, lines);
}

const restoreInput = (table: PacketTable, lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `*${table}\n${lines.join('\n')}\nCOMMIT\n`;
