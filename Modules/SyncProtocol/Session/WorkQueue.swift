/// A FIFO queue whose removals do not move the remaining elements.
struct WorkQueue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var count: Int { elements.count - head }

  /// The element that `removeFirst` returns next.
  var first: Element? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func append(contentsOf others: [Element]) { elements += others.map { $0 } }

  mutating func removeFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head]
    elements[head] = nil
    head += 1
    if head >= 64, head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Puts an element back at the front.
  mutating func prepend(_ element: Element) {
    if head > 0 {
      head -= 1
      elements[head] = element
    } else {
      elements.insert(element, at: 0)
    }
  }

  mutating func removeAll() { self = WorkQueue() }

  func map<T>(_ transform: (Element) -> T) -> [T] { elements[head...].compactMap { $0.map(transform) } }
}
