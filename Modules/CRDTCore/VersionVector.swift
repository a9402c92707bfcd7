import Failpoints

/// The identity of a site's writes to one document for as long as its store holds the document.
public struct Writer: Hashable, Sendable, Comparable {
  public var site: SiteID
  /// The clock reading of the site's first write to the document since its store holds it.
  public var birth: ClockReading

  public init(site: SiteID, birth: ClockReading) {
    self.site = site
    self.birth = birth
  }

  public static func < (a: Writer, b: Writer) -> Bool {
    a.site != b.site ? a.site < b.site : a.birth < b.birth
  }
}

/// The highest included clock reading of each writer; it covers every write of that writer up to it.
public struct VersionVector: Hashable, Sendable {
  public struct Element: Hashable, Sendable {
    public var writer: Writer
    public var reading: ClockReading

    public init(writer: Writer, reading: ClockReading) {
      self.writer = writer
      self.reading = reading
    }
  }

  /// Sorted by writer, each writer once.
  public private(set) var elements: [Element]

  public init() { elements = [] }

  /// Makes a vector of `elements` in any order; if a writer occurs twice, the greater clock reading counts.
  public init(_ elements: [Element]) {
    self.elements = []
    for element in elements { advance(element.writer, to: element.reading) }
  }

  /// Makes a vector of elements in ascending order of their writers.
  init(ascending elements: [Element]) { self.elements = elements }

  public var isEmpty: Bool { elements.isEmpty }

  /// The highest included clock reading of `writer`; zero if none is included.
  ///
  /// - Complexity: O(log *n*) in the writers.
  public subscript(writer: Writer) -> ClockReading { index(of: writer).map { elements[$0].reading } ?? .zero }

  /// Returns the index of a writer in ``elements``.
  func index(of writer: Writer) -> Int? {
    let index = insertionIndex(of: writer)
    return index < elements.count && elements[index].writer == writer ? index : nil
  }

  private func insertionIndex(of writer: Writer) -> Int {
    var low = 0
    var high = elements.count
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].writer < writer { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Whether a write of `writer` at `reading` is included; default data (reading zero) never is.
  public func covers(_ writer: Writer, at reading: ClockReading) -> Bool {
    guard reading > .zero else { return false }
    if CRDTDefect.formerBirthsCovered.isPlanted, case let place = newestPlace(of: writer.site), place > 0 {
      return elements[place - 1].reading >= reading
    }
    return self[writer] >= reading
  }

  /// Whether this vector includes everything that `other` includes.
  public func dominates(_ other: VersionVector) -> Bool {
    other.elements.allSatisfy { self[$0.writer] >= $0.reading }
  }

  /// Whether the element at an index is its site's newest, which supersedes the site's others.
  func isNewest(_ index: Int) -> Bool {
    index + 1 == elements.count || elements[index + 1].writer.site != elements[index].writer.site
  }

  /// Whether the vector has several births of a site.
  var hasSuperseded: Bool { elements.indices.contains { !isNewest($0) } }

  /// Returns the place of a site's newest element, from 1; 0 if the vector does not have the site.
  func newestPlace(of site: SiteID) -> Int {
    let end = insertionIndex(of: Writer(site: site, birth: ClockReading(rawValue: .max)))
    let index = end < elements.count && elements[end].writer.site == site ? end : end - 1
    return index >= 0 && elements[index].writer.site == site ? index + 1 : 0
  }

  /// Returns the element at a place, from 1, among the newest elements of all sites.
  ///
  /// That element is the same in all vectors that agree.
  func newest(at place: Int) -> Element? {
    var left = place
    for index in elements.indices where isNewest(index) {
      left -= 1
      if left == 0 { return elements[index] }
    }
    return nil
  }

  /// Drops every superseded element whose writer is not in `kept`.
  mutating func dropSuperseded(unless kept: Set<Writer>) {
    elements = elements.indices.compactMap {
      isNewest($0) || kept.contains(elements[$0].writer) ? elements[$0] : nil
    }
  }

  /// Drops the elements whose reading, as a stamp of their site, is not above `stamp`.
  mutating func drop(through stamp: Stamp) {
    elements.removeAll { Stamp(reading: $0.reading, site: $0.writer.site) <= stamp }
  }

  /// Whether the newest elements of all sites are the same.
  func agrees(with other: VersionVector) -> Bool {
    if self == other { return true }
    return elements.indices.lazy.filter(isNewest).map { elements[$0] }
      .elementsEqual(other.elements.indices.lazy.filter(other.isNewest).map { other.elements[$0] })
  }

  /// Returns the elements whose writers are also in `other`.
  func restricted(to other: VersionVector) -> VersionVector {
    VersionVector(ascending: elements.filter { other.index(of: $0.writer) != nil })
  }

  public mutating func advance(_ writer: Writer, to reading: ClockReading) {
    let index = insertionIndex(of: writer)
    if index < elements.endIndex, elements[index].writer == writer {
      elements[index].reading = max(elements[index].reading, reading)
    } else {
      elements.insert(Element(writer: writer, reading: reading), at: index)
    }
  }

  /// Joins by maximum, writer by writer.
  public mutating func join(_ other: VersionVector) {
    for element in other.elements { advance(element.writer, to: element.reading) }
  }

  /// The greatest clock reading of all writers.
  public var latest: ClockReading { elements.reduce(.zero) { max($0, $1.reading) } }
}
