import CRDTCore
import Testing

@Suite struct ArraySpanTests {
  @Test(arguments: [0, 1, 7, 1000])
  func `a span has the elements of its array`(count: Int) {
    var array = Array(0..<count)
    do {
      let whole = array.span
      #expect(whole.count == count)
      #expect((0..<count).allSatisfy { whole[$0] == $0 })
    }
    array.append(-1)
    #expect(array.span.count == count + 1)
    #expect(array.span[count] == -1)
  }

  @Test func `a copy that changes leaves the span of the original`() {
    let array: [UInt8] = [1, 2, 3]
    let span = array.span
    var copy = array
    copy[0] = 9
    #expect(span[0] == 1)
    #expect(copy.span[0] == 9)
  }

  @Test func `the span of a part of an array begins with the part`() {
    let array = Array([5, 6, 7, 8][1...2])
    #expect(array.span.count == 2)
    #expect(array.span[0] == 6)
  }

  @Test func `structures with references are looked at in place`() {
    let keys = ["one", "two", "a name that is too long to be stored in place"].map { TextKey($0) }
    let span = keys.spanOfValues
    #expect(span.count == 3)
    #expect((0..<3).allSatisfy { span[$0] == keys[$0] })
    #expect([TextKey]().spanOfValues.count == 0)
  }

  #if DEBUG
    @Test func `objects are refused, for they may be stored elsewhere`() async {
      await #expect(processExitsWith: .failure) {
        final class Thing {}
        _ = [Thing()].spanOfValues.count
      }
    }
  #endif
}
