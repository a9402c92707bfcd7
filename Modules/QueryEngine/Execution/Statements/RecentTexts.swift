import CRDTCore

/// The results for the most recently used texts, bounded in number and in the bytes of the texts.
struct RecentTexts<Made> {
  private struct Entry {
    let made: Made
    var lastUse: UInt64
  }

  /// The most texts that are kept.
  let capacity: Int
  /// The most bytes of all texts together; the results use several times as much.
  let capacityBytes: Int
  private var entries: [TextKey: Entry] = [:]
  private var uses: UInt64 = 0
  private(set) var bytes = 0

  init(capacity: Int, capacityBytes: Int) {
    self.capacity = capacity
    self.capacityBytes = capacityBytes
  }

  var count: Int { entries.count }

  /// The results that are kept, last used first.
  var all: [Made] { entries.values.sorted { $0.lastUse > $1.lastUse }.map(\.made) }

  /// The result for a text, which becomes the most recently used.
  mutating func use(_ text: String) -> Made? {
    guard let index = entries.index(forKey: TextKey(text)) else { return nil }
    uses += 1
    entries.values[index].lastUse = uses
    return entries.values[index].made
  }

  /// Keeps the result for a text; if necessary, it replaces the least recently used ones.
  ///
  /// A text that would use more than an eighth of the room is not kept.
  ///
  /// - Complexity: O(*n*) in the texts that are kept, where one has to be removed.
  mutating func keep(_ made: Made, of text: String) {
    let added = text.utf8.count
    guard added <= capacityBytes / 8 else { return }
    let text = TextKey(text)
    if entries[text] != nil { remove(text) }
    while entries.count >= capacity || bytes + added > capacityBytes {
      guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { break }
      remove(oldest.key)
    }
    uses += 1
    entries[text] = Entry(made: made, lastUse: uses)
    bytes += added
  }

  private mutating func remove(_ text: TextKey) {
    if entries.removeValue(forKey: text) != nil { bytes -= text.utf8.count }
  }
}
