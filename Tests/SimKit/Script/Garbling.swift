/// How a line breaks its contract, once: what comes is not what was sent, or not as it was.
///
/// A line is a stream of bytes that arrives in chunks; of most of them several are whole frames.
package enum Garbling: Codable, Hashable, Sendable {
  /// A chunk arrives twice.
  case repeated
  /// So many bytes at the end of what has arrived do.
  case repeatedBytes(Int)
  /// A chunk arrives after the next one.
  case swapped
  /// A chunk does not arrive, and what follows it does.
  case lost
  /// One bit of a chunk is another one: its number, wrapped around where the chunk is shorter.
  case flipped(bit: Int)
}
