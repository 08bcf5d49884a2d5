import { array, assert, integer, property, string, tuple } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bridgeName,
  choicesOfConflist,
  chooseSubnet,
  HAIRPIN_MODES,
  NoFreeSubnetError,
  parseRoutes,
  type Route,
  renderConflist,
} from './network.ts';

const ROUTES = [
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
  'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
  'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
  '',
].join('\n');

function route(cidr: string, device = 'eth0'): Route {
  const [address = '', bits = '0'] = cidr.split('/');
  const network = address.split('.').reduce((value, byte) => value * 256 + Number(byte), 0);
  return { device, network, mask: bits === '0' ? 0 : (0xffffffff << (32 - Number(bits))) >>> 0 };
}

describe('parseRoutes', () => {
  test('reads networks and masks and skips the title', () => {
    expect(parseRoutes(ROUTES)).toEqual([route('0.0.0.0/0'), route('192.0.2.0/24')]);
  });
});

describe('chooseSubnet', () => {
  const free = chooseSubnet('a', 'br', []);

  test('retains its choice for a name, whatever unrelated routes there are', () => {
    expect(chooseSubnet('a', 'br', parseRoutes(ROUTES))).toBe(free);
  });

  test('takes another one when the first overlaps a route', () => {
    expect(chooseSubnet('a', 'br', [route(free)])).not.toBe(free);
  });

  test('is not disturbed by the route of its own bridge', () => {
    expect(chooseSubnet('a', 'br', [route(free, 'br')])).toBe(free);
  });

  test('fails when a wide route covers every candidate', () => {
    expect(() => chooseSubnet('a', 'br', [route('10.0.0.0/8')])).toThrow(NoFreeSubnetError);
  });

  test('never overlaps a route', () => {
    const bits = integer({ min: 14, max: 32 });
    const routes = array(tuple(integer({ min: 0, max: 2047 }), bits), { maxLength: 12 });
    assert(
      property(string(), routes, (name, taken) => {
        const list = taken.map(([third, width]) => {
          const whole = route(`10.${88 + (third >> 8)}.${third & 255}.0/${width}`);
          return { ...whole, network: (whole.network & whole.mask) >>> 0 };
        });
        const chosen = chooseOrUndefined(name, list);
        const met = list.filter(({ network, mask }) => {
          const common = mask & (chosen?.mask ?? 0);
          return chosen !== undefined && (network & common) === (chosen.network & common);
        });
        expect(met).toEqual([]);
      }),
    );
  });
});

/** Random routes may cover every candidate. */
function chooseOrUndefined(name: string, routes: readonly Route[]): Route | undefined {
  try {
    return route(chooseSubnet(name, 'br', routes));
  } catch (thrown) {
    if (thrown instanceof NoFreeSubnetError) return undefined;
    throw thrown;
  }
}

describe('bridgeName', () => {
  test('fits the kernel and differs by name', () => {
    expect(bridgeName('a'.repeat(100))).toMatch(/^.{1,15}$/);
    expect(bridgeName('a')).not.toBe(bridgeName('b'));
  });
});

describe('choicesOfConflist', () => {
  test.each(HAIRPIN_MODES.map((mode) => [mode] as const))(
    'finds what renderConflist wrote: %s',
    (hairpinMode) => {
      const subnets = ['10.88.3.0/24', 'fd00:1::/64'];
      const text = renderConflist({ name: 'n', bridge: 'b', subnets, hairpinMode, leaseDir: '/l' });
      expect(choicesOfConflist(text)).toEqual({ subnets, hairpinMode });
    },
  );

  test('finds nothing in another text', () => {
    expect(choicesOfConflist('{"plugins":[]}')).toBeUndefined();
  });
});
