/** Default cipher suites of the servers: those with authenticated encryption and forward secrecy. The
 *  cheapest comes first: a quarter cheaper than with 256-bit keys, and encrypting watch responses is a
 *  server's largest cost. In OpenSSL's spelling. */
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
