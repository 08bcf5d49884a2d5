import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  addQuantities,
  canonicalizeQuantity,
  compareQuantities,
  formatQuantity,
  isQuantity,
  milliValue,
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToNumber,
  roundUpToMilli,
  subtractQuantities,
  value,
} from './quantity.ts';

const MAX = 2n ** 63n - 1n;

describe('canonicalizeQuantity', () => {
  test.each([
    ['0', '0'],
    ['-0', '0'],
    ['0Gi', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['001', '1'],
    ['1.', '1'],
    ['.5', '500m'],
    ['0.1', '100m'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['0.001m', '1u'],
    ['100u', '100u'],
    ['1000n', '1u'],
    ['1000', '1k'],
    ['1024', '1024'],
    ['1000k', '1M'],
    ['1.5G', '1500M'],
    ['123000', '123k'],
    ['-1500', '-1500'],
    ['1Ki', '1Ki'],
    ['1024Ki', '1Mi'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['0.5Ki', '512'],
    ['0.0001Ki', '102400u'],
    ['1.1Ki', '1126400m'],
    ['7Ei', '7Ei'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['1E3', '1e3'],
    ['1e-3', '1e-3'],
    ['1500e3', '1500e3'],
    ['1E', '1E'],
    ['1P', '1P'],
    ['1e+6', '1e6'],
    ['1e-9', '1e-9'],
  ])('writes %s as %s', (text, expected) => {
    expect(canonicalizeQuantity(text)).toBe(expected);
  });

  test.each([
    ['finer than a nano', '0.1n', '1n'],
    ['far finer than a nano', '1e-30', '1e-9'],
    ['a negative amount finer than a nano', '-0.1n', '-1n'],
    ['ten decimals', '1.0000000001', '1000000001n'],
  ])('rounds %s away from zero', (_, text, expected) => {
    expect(canonicalizeQuantity(text)).toBe(expected);
  });

  test.each(['1e30', '1000E', '9Ei', '99999999999999999999', '1e999999999999', '9223372036854775808'])(
    'caps %s at 2^63-1',
    (text) => {
      expect(parseQuantity(text).nanos).toBe(MAX * 10n ** 9n);
      expect(parseQuantity(`-${text}`).nanos).toBe(-MAX * 10n ** 9n);
    },
  );

  it('reads numbers as their JSON text', () => {
    expect(canonicalizeQuantity(0.1)).toBe('100m');
    expect(canonicalizeQuantity(2)).toBe('2');
  });
});

describe('parseQuantity', () => {
  test.each([
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '.',
    '+',
    '-',
    'Ki',
    'm',
    '1.1.M',
    '1+1.0M',
    '0.1mi',
    '0.1am',
    'aoeu',
    '.5i',
    '1i',
    '-3.01i',
    '-3.01e-',
    '1e',
    '1e1.5',
    '1K',
    '1ki',
    '0x1',
    '1,5',
    'NaN',
    'Infinity',
    '--1',
    '1'.repeat(1025),
  ])('rejects %j', (text) => {
    expect(() => parseQuantity(text)).toThrow(QuantityError);
    expect(isQuantity(text)).toBe(false);
  });

  it('reports the text in its error', () => {
    expect(() => parseQuantity('12 parsecs')).toThrow(/"12 parsecs"/);
  });
});

describe('whole and milli values', () => {
  test.each([
    ['0', 0, 0],
    ['1', 1, 1000],
    ['100m', 1, 100],
    ['1m', 1, 1],
    ['1u', 1, 1],
    ['1001m', 2, 1001],
    ['1.5', 2, 1500],
    ['-1.5', -2, -1500],
    ['-100u', -1, -1],
    ['10Mi', 10_485_760, 10_485_760_000],
  ])('rounds %s up', (text, whole, milli) => {
    expect(value(text)).toBe(whole);
    expect(milliValue(text)).toBe(milli);
  });

  it('rounds a quantity to milli units in its own format', () => {
    expect(formatQuantity(roundUpToMilli('1500u'))).toBe('2m');
    expect(formatQuantity(roundUpToMilli('1Gi'))).toBe('1Gi');
  });

  it('returns the nearest number', () => {
    expect(quantityToNumber('250m')).toBe(0.25);
    expect(quantityToNumber('-1.5Ki')).toBe(-1536);
  });
});

describe('arithmetic', () => {
  test.each([
    ['1Gi', '1Gi', '2Gi'],
    ['1Gi', '1', '1073741825'],
    ['0', '1Gi', '1Gi'],
    ['100m', '0.9', '1'],
    ['1e3', '1', '1001'],
  ])('%s + %s = %s', (left, right, sum) => {
    expect(formatQuantity(addQuantities(left, right))).toBe(sum);
  });

  it('subtracts', () => {
    expect(formatQuantity(subtractQuantities('2Gi', '1Gi'))).toBe('1Gi');
    expect(formatQuantity(subtractQuantities('1', '1500m'))).toBe('-500m');
  });
});

const quantities: fc.Arbitrary<Quantity> = fc.record({
  nanos: fc.bigInt({ min: -MAX * 10n ** 9n, max: MAX * 10n ** 9n }),
  format: fc.constantFrom('decimalSI', 'binarySI', 'decimalExponent'),
});
/** Quantities as people write them: few digits, some suffix. */
const roundQuantities: fc.Arbitrary<Quantity> = fc
  .record({
    digits: fc.bigInt({ min: -9999n, max: 9999n }),
    unit: fc.constantFrom(
      1n,
      10n ** 3n,
      10n ** 6n,
      10n ** 9n,
      10n ** 12n,
      1024n * 10n ** 9n,
      1024n ** 3n * 10n ** 9n,
    ),
    format: fc.constantFrom('decimalSI' as const, 'binarySI' as const, 'decimalExponent' as const),
  })
  .map(({ digits, unit, format }) => ({ nanos: digits * unit, format }));

function thrownBy(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('properties', () => {
  test('the fast path for plain numbers agrees with the general one', () => {
    const suffixes = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
    fc.assert(
      fc.property(fc.stringMatching(/^\d{1,17}$/), fc.constantFrom(...suffixes), (digits, suffix) => {
        expect(parseQuantity(digits + suffix)).toEqual(parseQuantity(`+${digits}${suffix}`));
      }),
    );
  });

  it('parses its own output exactly', () => {
    fc.assert(
      fc.property(fc.oneof(quantities, roundQuantities), (quantity) => {
        expect(parseQuantity(formatQuantity(quantity)).nanos).toBe(quantity.nanos);
      }),
    );
  });

  it('has one canonical text', () => {
    fc.assert(
      fc.property(fc.oneof(quantities, roundQuantities), (quantity) => {
        const text = formatQuantity(quantity);
        expect(text).not.toContain('.');
        // A binary quantity without suffix is parsed as a decimal one, which may have a shorter form.
        const exempt = quantity.format === 'binarySI' && /\d$/.test(text);
        expect(exempt || canonicalizeQuantity(text) === text).toBe(true);
      }),
    );
  });

  it('agrees with whole-number arithmetic on decimals', () => {
    const written = fc.record({
      whole: fc.bigInt({ min: 0n, max: 10n ** 6n }),
      fraction: fc.stringMatching(/^\d{0,6}$/),
      suffix: fc.constantFrom(['m', -3], ['', 0], ['k', 3], ['M', 6], ['e2', 2], ['E-1', -1]),
    });
    fc.assert(
      fc.property(written, ({ whole, fraction, suffix: [suffix, power] }) => {
        const scaled = BigInt(`${whole}${fraction}`) * 10n ** BigInt(15 + power - fraction.length);
        const { nanos } = parseQuantity(`${whole}.${fraction}${suffix}`);
        expect(nanos).toBe(scaled / 10n ** 6n + (scaled % 10n ** 6n === 0n ? 0n : 1n));
      }),
    );
  });

  it('orders and adds as the amounts do', () => {
    fc.assert(
      fc.property(quantities, quantities, (left, right) => {
        const order = compareQuantities(left, right);
        expect(order).toBe(-compareQuantities(right, left) + 0);
        expect(order < 0).toBe(left.nanos < right.nanos);
        expect(addQuantities(left, right).nanos).toBe(addQuantities(right, left).nanos);
        expect(compareQuantities(subtractQuantities(addQuantities(left, right), right), left)).toBe(0);
      }),
    );
  });

  it('throws QuantityError and nothing else for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+.0-9eEkKmMi]{0,12}$/)), (text) => {
        const thrown = thrownBy(() => parseQuantity(text));
        expect(thrown === undefined || thrown instanceof QuantityError).toBe(true);
      }),
    );
  });
});
