/// A sequence that is cheap to keep old versions of, and to change in a few places.
///
/// It is cut into chunks that versions share: a change copies the chunks it touches and the list of chunks,
/// which is shorter than the sequence by two orders of magnitude.
public struct RowList<Element: Sendable>: Sendable, RandomAccessCollection {
  /// Some consecutive elements, never empty; two chunks of one identity are the same.
  final class Chunk: Sendable {
    let elements: [Element]

    init(_ elements: [Element]) { self.elements = elements }
  }

  /// Elements of a chunk when it is made from many, and at most.
  private static var usualCount: Int { 128 }
  private static var greatestCount: Int { 256 }

  private(set) var chunks: [Chunk] = []
  /// The index behind each chunk.
  private(set) var ends: [Int] = []

  public init() {}

  /// - Complexity: O(*n*).
  public init(_ elements: some Sequence<Element>) {
    var builder = Builder()
    for element in elements { builder.append(element) }
    self = builder.finish()
  }

  public var startIndex: Int { 0 }

  public var endIndex: Int { ends.last ?? 0 }

  /// - Complexity: O(log *n*).
  public subscript(index: Int) -> Element {
    let chunk = chunk(at: index)
    return chunks[chunk].elements[index - start(of: chunk)]
  }

  public func makeIterator() -> some IteratorProtocol<Element> {
    chunks.lazy.map(\.elements).joined().makeIterator()
  }

  /// The chunk that holds an index; the last one for the index behind all.
  private func chunk(at index: Int) -> Int {
    var low = 0
    var high = chunks.count - 1
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] > index { high = middle } else { low = middle + 1 }
    }
    return low
  }

  func start(of chunk: Int) -> Int { chunk == 0 ? 0 : ends[chunk - 1] }

  /// Takes out and puts in at once.
  ///
  /// - Parameters:
  ///   - removals: Indexes to take out, ascending, each once.
  ///   - insertions: What to put in, and before which present index, ascending.
  /// - Complexity: O(*k* + *n* / 128) for *k* places in different chunks.
  mutating func edit(removing removals: [Int], inserting insertions: [(position: Int, element: Element)]) {
    guard !removals.isEmpty || !insertions.isEmpty else { return }
    var builder = Builder()
    var removal = 0
    var insertion = 0
    for (number, chunk) in chunks.enumerated() {
      let start = start(of: number)
      // What comes behind the last element of all belongs to the last chunk.
      let end = number == chunks.count - 1 ? ends[number] + 1 : ends[number]
      let isTouched =
        removal < removals.count && removals[removal] < end
        || insertion < insertions.count && insertions[insertion].position < end
      guard isTouched else {
        builder.append(chunk)
        continue
      }
      for index in start..<end {
        while insertion < insertions.count, insertions[insertion].position == index {
          builder.append(insertions[insertion].element)
          insertion += 1
        }
        if removal < removals.count, removals[removal] == index {
          removal += 1
        } else if index < ends[number] {
          builder.append(chunk.elements[index - start])
        }
      }
    }
    for rest in insertions[insertion...] { builder.append(rest.element) }
    self = builder.finish()
  }

  /// Makes a list from front to back, of chunks that stay and of single elements.
  private struct Builder {
    private var list = RowList()
    private var open: [Element] = []

    mutating func append(_ element: Element) {
      open.append(element)
      if open.count == RowList.greatestCount { close(RowList.usualCount) }
    }

    mutating func append(_ chunk: Chunk) {
      // Few elements between chunks that stay would leave ever smaller chunks behind.
      if !open.isEmpty, open.count < RowList.usualCount / 4 {
        for element in chunk.elements { append(element) }
        return
      }
      close(open.count)
      list.add(chunk)
    }

    private mutating func close(_ count: Int) {
      guard count > 0 else { return }
      list.add(Chunk(Array(open.prefix(count))))
      open.removeFirst(count)
    }

    mutating func finish() -> RowList {
      close(open.count)
      return list
    }
  }

  mutating func add(_ chunk: Chunk) {
    ends.append(endIndex + chunk.elements.count)
    chunks.append(chunk)
  }
}
