/// A sequence of which old versions are cheap to keep, and which is cheap to change in a few places.
///
/// It consists of chunks that versions share. A change copies the chunks it touches and the list of chunks,
/// which is shorter than the sequence by two orders of magnitude.
public struct RowList<Element: Sendable>: Sendable, RandomAccessCollection {
  /// Some consecutive elements, never empty; two chunks of one identity are the same.
  final class Chunk: Sendable {
    let elements: [Element]

    init(_ elements: [Element]) { self.elements = elements }
  }

  /// The number of elements in a chunk that is made from many, and the greatest such number.
  private static var usualCount: Int { 128 }
  /// The least number of elements that are a chunk of their own between others.
  private static var leastCount: Int { 32 }
  private static var greatestCount: Int { 256 }
  /// The greatest number of edits of a chunk that are made one by one.
  private static var fewEdits: Int { 8 }

  private(set) var chunks: [Chunk] = []
  /// The index after each chunk.
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

  /// The chunk that contains an index; the last chunk for the index after all elements.
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

  /// Removes and inserts elements in one step.
  ///
  /// - Parameters:
  ///   - removals: Indexes of elements to remove, ascending, each once.
  ///   - insertions: Elements to insert, each with the present index before which it goes, ascending.
  /// - Complexity: O(*k* + *n* / 128) for *k* places in different chunks.
  mutating func edit(removing removals: [Int], inserting insertions: [(position: Int, element: Element)]) {
    guard !removals.isEmpty || !insertions.isEmpty else { return }
    var builder = Builder()
    var removal = 0
    var insertion = 0
    for (number, chunk) in chunks.enumerated() {
      let start = start(of: number)
      // Insertions after the last element belong to the last chunk.
      let end = number == chunks.count - 1 ? ends[number] + 1 : ends[number]
      let isTouched =
        removal < removals.count && removals[removal] < end
        || insertion < insertions.count && insertions[insertion].position < end
      guard isTouched else {
        builder.append(chunk)
        continue
      }
      let gone = removals[removal...].prefix { $0 < end }
      let come = insertions[insertion...].prefix { $0.position < end }
      (removal, insertion) = (gone.endIndex, come.endIndex)
      builder.append(Self.edited(chunk.elements, from: start, removing: gone, inserting: come))
    }
    for rest in insertions[insertion...] { builder.append(rest.element) }
    self = builder.finish()
  }

  /// The edited elements, of which the first has the index `start`.
  private static func edited(
    _ elements: [Element], from start: Int, removing removals: ArraySlice<Int>,
    inserting insertions: ArraySlice<(position: Int, element: Element)>
  ) -> [Element] {
    var edited = elements
    // For a few edits, moving all elements after each costs less than copying them one by one.
    if removals.count + insertions.count <= fewEdits {
      for removal in removals.reversed() { edited.remove(at: removal - start) }
      for (number, insertion) in insertions.enumerated() {
        let gone = removals.prefix { $0 < insertion.position }.count
        edited.insert(insertion.element, at: insertion.position - start - gone + number)
      }
      return edited
    }
    edited.removeAll(keepingCapacity: true)
    var (removals, insertions) = (removals, insertions)
    for index in start...start + elements.count {
      while insertions.first?.position == index { edited.append(insertions.removeFirst().element) }
      if removals.first == index {
        removals.removeFirst()
      } else if index < start + elements.count {
        edited.append(elements[index - start])
      }
    }
    return edited
  }

  /// Builds a list from front to back, from unchanged chunks and from single elements.
  private struct Builder {
    private var list = RowList()
    private var open: [Element] = []

    mutating func append(_ element: Element) {
      open.append(element)
      if open.count == RowList.greatestCount { close(RowList.usualCount) }
    }

    /// Appends an unchanged chunk.
    mutating func append(_ chunk: Chunk) {
      guard closeBefore(chunk.elements) else { return }
      list.add(chunk)
    }

    /// Appends the edited elements of a chunk.
    mutating func append(_ elements: [Element]) {
      guard elements.count >= RowList.leastCount, elements.count < RowList.greatestCount else {
        for element in elements { append(element) }
        return
      }
      guard closeBefore(elements) else { return }
      list.add(Chunk(elements))
    }

    /// Closes the open elements before a chunk of its own.
    ///
    /// It returns `false` when the chunk's elements were joined to the open ones instead. Otherwise, few
    /// elements between chunks would leave ever smaller chunks.
    private mutating func closeBefore(_ elements: [Element]) -> Bool {
      if !open.isEmpty, open.count < RowList.leastCount {
        for element in elements { append(element) }
        return false
      }
      close(open.count)
      return true
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
