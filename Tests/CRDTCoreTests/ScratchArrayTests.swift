import CRDTCore
import Testing

@Suite struct ScratchArrayTests {
  @Test(arguments: [0, 1, 24])
  func `a scratch has as many values as it was asked for`(count: Int) {
    let sum = ScratchArray.with(count, of: 24, repeating: 3) { scratch in
      for index in 0..<scratch.count where index % 2 == 1 { scratch[index] = index }
      return (scratch.count, (0..<scratch.count).map { scratch[$0] })
    }
    #expect(sum.0 == count)
    #expect(sum.1 == (0..<count).map { $0 % 2 == 1 ? $0 : 3 })
  }

  @Test func `two of them at once do not share their values`() {
    ScratchArray.with(4, of: 4, repeating: 1) { first in
      ScratchArray.with(4, of: 4, repeating: UInt8(2)) { second in
        second[3] = 9
        first[0] = 7
        #expect((0..<4).map { first[$0] } == [7, 1, 1, 1])
        #expect((0..<4).map { second[$0] } == [2, 2, 2, 9])
      }
    }
  }

  @Test func `what its user throws comes out`() {
    struct Refusal: Error, Equatable {}
    #expect(throws: Refusal()) {
      try ScratchArray.with(1, of: 1, repeating: 0) { (_) throws(Refusal) in throw Refusal() }
    }
  }

  @Test func `a place that there is not ends the process`() async {
    await #expect(processExitsWith: .failure) {
      ScratchArray.with(2, of: 4, repeating: 0) { scratch in scratch[2] = 1 }
    }
    await #expect(processExitsWith: .failure) {
      _ = ScratchArray.with(2, of: 4, repeating: 0) { scratch in scratch[-1] }
    }
    await #expect(processExitsWith: .failure) { ScratchArray.with(5, of: 4, repeating: 0) { _ in } }
  }
}
