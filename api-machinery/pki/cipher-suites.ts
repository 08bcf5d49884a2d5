/** Cipher suites that the servers offer unless others are configured: those that authenticate what they encrypt and
 *  whose keys are of no use afterwards. The cheapest comes first: a quarter cheaper than with keys of 256 bits, and what
 *  is sent to watchers costs a server more than anything. In OpenSSL's spelling. */
export const CIPHER_SUITES: string = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
